# shellcheck shell=bash
# shellcheck disable=SC2034  # build.sh reads what is set here
# A tree of a git repository that is kept with its objects between calls, so that the next commit compiles only what
# changed (a bisection's). Sourced by build.sh, whose say, die and variables it uses.
#
#   DIR/source      a clone that shares the objects of the repository, at the commit that was built last
#   DIR/of          which repository it is of
#   DIR/compiling   there while make runs: one that was killed may leave torn objects, which are newer

# Locks the tree, which is made where there is none.
take_kept_tree() {
    local repository
    repository=$(realpath -- "$GIT")
    [[ ! -d $KEPT_TREE || -e $KEPT_TREE/of || -z $(ls -A -- "$KEPT_TREE") ]] ||
        die "--tree $KEPT_TREE has files of others: choose a directory that is empty or not there yet"
    mkdir -p -- "$KEPT_TREE" || die "cannot create $KEPT_TREE; choose another place with --tree DIR"
    exec {TREE_LOCK}>"$KEPT_TREE/lock"
    flock --nonblock "$TREE_LOCK" || die "another build is under way in $KEPT_TREE: wait for it, or give another --tree DIR"
    [[ ! -e $KEPT_TREE/of || $(<"$KEPT_TREE/of") == "$repository" ]] ||
        die "--tree $KEPT_TREE is of $(<"$KEPT_TREE/of"): give each repository its own"
    echo "$repository" >"$KEPT_TREE/of"
    TREE="$KEPT_TREE/source"
}

# Brings the tree to COMMIT, and touches only files that differ.
check_out_commit() {
    if [[ ! -d $TREE/.git ]]; then
        rm -rf -- "$TREE"
        git clone --quiet --shared --no-checkout -- "$(<"$KEPT_TREE/of")" "$TREE" || die "cannot clone $GIT into $TREE"
    fi
    git -C "$TREE" -c advice.detachedHead=false checkout --quiet --force --detach "$COMMIT" ||
        die "cannot check $COMMIT out in $TREE: make room, or remove that directory, which then is made anew"
    local file
    if [[ -e $KEPT_TREE/compiling ]]; then
        say "the build before was interrupted: what it had begun to write is compiled again"
        find "$TREE" -newer "$KEPT_TREE/compiling" -type f \( -name '*.[oa]' -o -name vmlinux -o -name linux \) -print0 |
            while IFS= read -r -d '' file; do is_complete_object "$file" || rm -f -- "$file"; done
    fi
    # The hash is of what is given as one file; a commit is known by its own.
    TARBALL_HASH=
}

# The kernel's makefiles write .NAME.cmd when NAME is complete. Where that is older than NAME, NAME may be torn.
is_complete_object() {
    local command="${1%/*}/.${1##*/}.cmd"
    [[ -e $command && ! $1 -nt $command ]]
}

note_compiling() { : >"$KEPT_TREE/compiling"; }

note_compiled() { rm -f -- "$KEPT_TREE/compiling"; }
