# shellcheck shell=bash
# shellcheck disable=SC2153  # VERSION is build.sh's
# TCP congestion controls of the user's own, which are built into the kernel: sourced by build.sh, whose die and variables
# it uses.

# Sets MODULE_FILES, and refuses what is no congestion control by its name.
find_module_files() {
    local directory file name
    for directory in "${MODULES[@]}"; do
        [[ -d $directory ]] || usage_error "--module $directory: no such directory"
        compgen -G "$directory/tcp_*.c" >/dev/null ||
            usage_error "--module $directory: it has no tcp_NAME.c, which holds the TCP congestion control NAME"
        for file in "$directory"/*.[ch]; do
            name=$(basename -- "$file")
            [[ -f $file ]] || continue
            [[ $name =~ ^(tcp_[a-z][a-z0-9_]{0,14}\.c|[A-Za-z0-9_-]+\.h)$ ]] ||
                usage_error "--module $directory: $name is neither a header nor a tcp_NAME.c (small letters and digits)"
            [[ $name == *.h ]] || grep -qE "\\.name[[:space:]]*=[[:space:]]*\"$(module_name "$file")\"" -- "$file" ||
                usage_error "--module $directory: $name registers no congestion control $(module_name "$file"): it needs
  .name = \"$(module_name "$file")\" in its struct tcp_congestion_ops"
            MODULE_FILES+=("$file")
        done
    done
}

# The name of the congestion control in a file tcp_NAME.c.
module_name() {
    local file=${1##*/tcp_}
    printf '%s' "${file%.c}"
}

# The option that builds it in, as for the kernel's own.
module_option() {
    local name
    name=$(module_name "$1")
    printf 'CONFIG_TCP_CONG_%s' "${name^^}"
}

# Puts the files into the tree, beside the kernel's own congestion controls.
add_modules() {
    local file option place
    for file in "${MODULE_FILES[@]}"; do
        place="$TREE/net/ipv4/${file##*/}"
        [[ ! -e $place ]] || git_knows_not "$place" ||
            die "Linux $VERSION has net/ipv4/${file##*/} itself: give yours another name, in the file's and in .name"
        [[ $file != *.c ]] || refuse_taken_name "$(module_name "$file")" "$place"
        say "adding ${file##*/}"
        # An unchanged file keeps its time in a tree that is kept, so that it is not compiled again.
        cmp -s -- "$file" "$place" || cp -- "$file" "$place"
        [[ $file == *.c ]] || continue
        option=$(module_option "$file")
        printf '\nconfig %s\n\tbool "%s"\n' "${option#CONFIG_}" "$(module_name "$file")" >>"$TREE/net/ipv4/Kconfig"
        # shellcheck disable=SC2016  # $(…) is make's
        printf '\nobj-$(%s) += %s.o\n' "$option" "$(basename -- "$file" .c)" >>"$TREE/net/ipv4/Makefile"
    done
}

# Of two controls of one name the kernel has the first alone (reno is in tcp_cong.c): runs would be of that one.
refuse_taken_name() {
    local name=$1 place=$2 holder
    holder=$(grep -lE "\\.name[[:space:]]*=[[:space:]]*\"$name\"" -- "$TREE"/net/ipv4/tcp*.c | grep -vxF -- "$place" | head -n 1) || true
    [[ -z $holder ]] || die "Linux $VERSION has a congestion control $name itself, in ${holder#"$TREE/"}: give yours another
  name, in the file's and in .name"
}

# The objects of the user's files, which are compiled before all others.
module_objects() {
    local file
    for file in "${MODULE_FILES[@]}"; do
        [[ $file != *.c ]] || echo "net/ipv4/$(basename -- "$file" .c).o"
    done
}

# Whether a file in a tree that is kept was put there by a build before.
git_knows_not() { [[ -n $KEPT_TREE ]] && ! git -C "$TREE" ls-files --error-unmatch -- "$1" >/dev/null 2>&1; }

# The lines of configuration that build them in.
module_lines() {
    local file
    for file in "${MODULE_FILES[@]}"; do
        [[ $file != *.c ]] || echo "$(module_option "$file")=y"
    done
}
