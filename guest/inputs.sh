# shellcheck shell=bash
# shellcheck disable=SC2034  # the files that source this one read what is set here
# The files that decide what is built, but for the kernel's source: sourced by build.sh, whose variables it uses.
#
# A build takes minutes, in which a checkout or an editor may change them. Therefore a build hashes and reads a copy of
# its own.

FRAGMENT="$GUEST_DIR/kernel.config"
GETRANDOM_SOURCE="$GUEST_DIR/seeded_getrandom.c"
PATCH_DIR="$GUEST_DIR/patches"
KNOWN_SOURCES="$GUEST_DIR/sources.sha256"

# Copies the files into WORK, and computes the hashes of the copies.
copy_inputs() {
    local copy="$WORK/inputs"
    mkdir -- "$copy"
    cp -- "$FRAGMENT" "$GETRANDOM_SOURCE" "$KNOWN_SOURCES" "$copy/"
    cp -r -- "$PATCH_DIR" "$copy/patches"
    FRAGMENT="$copy/kernel.config"
    GETRANDOM_SOURCE="$copy/seeded_getrandom.c"
    PATCH_DIR="$copy/patches"
    KNOWN_SOURCES="$copy/sources.sha256"
    copy_each OWN_PATCHES "$copy/own-patches"
    copy_each MODULE_FILES "$copy/modules"
    hash_inputs
}

# Copies the files that the array named $1 has, and puts the copies in their place. Each is in a directory of its own
# below $2, because two may have the same name.
copy_each() {
    local -n files=$1
    local number
    for number in "${!files[@]}"; do
        mkdir -p -- "$2/$number"
        cp -- "${files[number]}" "$2/$number/"
        files[number]="$2/$number/${files[number]##*/}"
    done
}
