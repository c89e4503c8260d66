# shellcheck shell=bash
# The kernels that are built, side by side: sourced by build.sh, whose say, die and variables it uses.

# Whether the archive cannot be reached, so that the kernel built before, of another source, serves until it can.
STANDS_IN=false

# Sets BASE and INPUTS. BASE hashes everything in the repository, or given by the caller, that decides what is built, but
# for the source of a package and comments. INPUTS adds the series that is asked for, or else the pinned source, so that
# a new pin is looked for. What the archive offered instead is remembered under INPUTS until --refresh. netwarp's own
# patches are in neither: they depend on the version that is found (is_patched_as_now).
hash_inputs() {
    local line patch
    if [[ -z ${SOURCE_ID:-} && -n $SOURCE$GIT ]]; then identify_source; fi
    BASE=$(
        {
            echo "recipe $RECIPE"
            grep -E '^(CONFIG_|#\? )' -- "$FRAGMENT" | sha256sum
            grep -vE '^[[:space:]]*(//|$)' -- "$GETRANDOM_SOURCE" | sha256sum
            for line in "${CONFIG[@]}"; do echo "config $line"; done
            for patch in "${OWN_PATCHES[@]}"; do sha256sum <"$patch"; done
            for line in "${MODULE_FILES[@]}"; do echo "module ${line##*/} $(sha256sum <"$line")"; done
            if [[ -n $SOURCE || -n $GIT ]]; then echo "$SOURCE_ID"; fi
        } | short_hash
    )
    INPUTS=$BASE
    if [[ -n $SERIES ]]; then
        INPUTS=$(echo "$BASE $SERIES" | short_hash)
    elif takes_pinned_source; then
        INPUTS=$(echo "$BASE $(pinned_source)" | short_hash)
    fi
}

short_hash() { sha256sum | cut -c 1-16; }

# The name of an entry. $1: the version; $2: what of the source is not in BASE, if anything is.
key_of() {
    local patches
    patches=$(hash_patches "$1")
    echo "$1-$(echo "$BASE${2:+ $2}${patches:+ $patches}" | short_hash)"
}

json_field() { sed -n "s/^  \"$2\": \"\\{0,1\\}\\([^\"]*\\)\"\\{0,1\\},\$/\\1/p" -- "$1"; }

is_complete() {
    local file
    for file in "${ENTRY_FILES[@]}"; do
        [[ -s $1/$file ]] || return 1
    done
}

# A patch of netwarp's that changed, or is new, makes another kernel of the same source.
is_patched_as_now() {
    [[ $(json_field "$1/kernel.json" patches_sha256) == "$(hash_patches "$(json_field "$1/kernel.json" version)")" ]]
}

# The kernel that was built of what is asked for now.
remembered_entry() {
    local entry
    if entry_behind "$INPUTS"; then return; fi
    # One that was built as the default, whether it is asked for so or by its version.
    entry=$(entry_behind "$BASE") && is_of_pinned_source "$entry" || return 1
    printf '%s\n' "$entry"
}

# The kernel that was last used where no source was named, of whatever source it is.
earlier_entry() { takes_pinned_source && entry_behind "$BASE"; }

# The kernel that a link of by-inputs leads to, if it may be used for what is asked for.
entry_behind() {
    local entry version
    entry=$(realpath -e -- "$CACHE/by-inputs/$1" 2>/dev/null) || return 1
    if ! is_complete "$entry" || ! is_patched_as_now "$entry"; then return 1; fi
    version=$(json_field "$entry/kernel.json" version)
    [[ -z $SERIES || $version == "$SERIES" || $version == "$SERIES".* ]] || return 1
    if $ONLY_PINNED && ! is_known_source "$(json_field "$entry/kernel.json" source_sha256)"; then return 1; fi
    printf '%s\n' "$entry"
}

is_of_pinned_source() {
    local info=$1/kernel.json
    [[ "$(json_field "$info" source_package) $(json_field "$info" source_version)" == "$(pinned_source)" ]]
}

print_entry() {
    remembered_entry ||
        die "no kernel in $CACHE is built from $GUEST_DIR/kernel.config and the options as they are now; build it with: $GUEST_DIR/build.sh"
}

# A symlink is replaced by a rename, so that a reader always finds either the old one or the new one.
point_link() {
    local link=$1 target=$2
    [[ $(readlink -- "$link" || true) != "$target" ]] || return 0
    ln -sfn -- "$target" "$link.$$"
    mv -fT -- "$link.$$" "$link"
}

use_entry() {
    local key=${1##*/}
    mkdir -p -- "$CACHE/by-inputs"
    $STANDS_IN || point_link "$CACHE/by-inputs/$INPUTS" "../$key"
    if takes_pinned_source || is_of_pinned_source "$1"; then point_link "$CACHE/by-inputs/$BASE" "../$key"; fi
    if is_default || { [[ ! -e $CACHE/current ]] && may_be_default "$1"; }; then point_link "$CACHE/current" "$key"; fi
    say "ready: Linux $(json_field "$1/kernel.json" version) from" \
        "$(json_field "$1/kernel.json" source_package) in $CACHE/$key"
    if [[ -L $CACHE/chosen && $(readlink -- "$CACHE/chosen") != "$key" ]]; then
        say "studies that name no kernel have $(readlink -- "$CACHE/chosen"), as 'netwarp kernel default' has chosen"
    elif [[ ! -e $CACHE/current && ! -L $CACHE/chosen ]]; then
        say "studies that name no kernel have none: 'netwarp kernel build' builds it, 'netwarp kernel default' chooses one"
    fi
    say_lacks "$1/kernel.json"
}

# Says what a kernel lacks, so that whoever gets an older one without having asked for it knows it before a study does.
say_lacks() {
    if [[ $(json_field "$1" uring_abs_timer) == false ]]; then
        say "it runs no QUIC, which is refused for it: Linux 6.12 and later have what QUIC's endpoint waits by"
    fi
    if [[ $(json_field "$1" netem_seed) == false ]]; then
        say "it repeats no random losses, which are refused for it: Linux 6.6 and later can"
    fi
    if [[ $(json_field "$1" seccomp) == false ]]; then
        say "its runs take more CPU time (ptrace, which Linux 6.16 and later do without), and measure the same"
    fi
}

# Whether a kernel that was not asked for as the default is what the default would be. One of the caller's own source is,
# where there is none: a machine without apt gets no other.
may_be_default() { [[ -n $SOURCE$GIT ]] || { is_unchanged && is_of_pinned_source "$1"; }; }

take_lock() {
    [[ ! -d $CACHE || -e $CACHE/lock || -z $(ls -A -- "$CACHE") ]] ||
        die "$CACHE has files of others: choose a directory that is empty or not there yet, such as $CACHE/netwarp"
    mkdir -p -- "$CACHE" || die "cannot create $CACHE; choose another place with --cache DIR"
    exec {LOCK}>"$CACHE/lock"
    flock --nonblock "$LOCK" || {
        say "another build is under way in $CACHE; waiting for it"
        flock "$LOCK"
    }
    # The lock is ours, so what a killed build left behind is nobody's.
    rm -rf -- "$CACHE"/.netwarp-build.*
}

# Sets WORK to a new directory in the cache, whose lock is ours, for a build that needs $1 MB.
make_work_directory() {
    local free_mb
    free_mb=$(df --output=avail -BM -- "$CACHE" | tail -n 1 | tr -dc 0-9)
    ((free_mb >= $1)) ||
        die "a build needs $1 MB and $CACHE has $free_mb MB free; make room, or choose another: --cache DIR"
    # shellcheck disable=SC2034  # read by the scripts that source this file
    WORK=$(mktemp -d -- "$CACHE/.netwarp-build.XXXXXX")
}

# Whether the disk of $1 is full, which programs that fail for that reason say in many ways.
is_full() { (($(df --output=avail -BM -- "$1" | tail -n 1 | tr -dc 0-9) < 16)); }

die_of_full_disk() { die "the disk of $1 is full: make room, and start again; nothing of this build is kept"; }
