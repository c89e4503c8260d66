# shellcheck shell=bash
# The kernels that are built, side by side: sourced by build.sh, whose say, die and variables it uses.

# Sets BASE and INPUTS. BASE hashes everything in the repository, or given by the caller, that decides what is built; a
# comment does not. Which source the archive offers is not among it: the first look decides, and is remembered under
# INPUTS until --refresh. Nor are netwarp's own patches, which depend on the version that is found (is_patched_as_now).
hash_inputs() {
    local line patch
    if [[ -n $SOURCE || -n $GIT ]]; then identify_source; fi
    BASE=$(
        {
            echo "recipe $RECIPE"
            grep -E '^(CONFIG_|#\? )' -- "$FRAGMENT" | sha256sum
            grep -vE '^[[:space:]]*(//|$)' -- "$SHIM_SOURCE" | sha256sum
            for line in "${CONFIG[@]}"; do echo "config $line"; done
            for patch in "${OWN_PATCHES[@]}"; do sha256sum <"$patch"; done
            if [[ -n $SOURCE || -n $GIT ]]; then echo "$SOURCE_ID"; fi
        } | short_hash
    )
    INPUTS=$BASE
    [[ -z $SERIES ]] || INPUTS=$(echo "$BASE $SERIES" | short_hash)
    readonly BASE INPUTS
}

short_hash() { sha256sum | cut -c 1-16; }

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

remembered_entry() {
    local link entry version
    # What is asked for by its version may be the default, which is remembered without one.
    for link in "$INPUTS" "$BASE"; do
        entry=$(realpath -e -- "$CACHE/by-inputs/$link" 2>/dev/null) || continue
        if ! is_complete "$entry" || ! is_patched_as_now "$entry"; then continue; fi
        version=$(json_field "$entry/kernel.json" version)
        [[ -z $SERIES || $version == "$SERIES" || $version == "$SERIES".* ]] || continue
        printf '%s\n' "$entry"
        return
    done
    return 1
}

print_entry() {
    remembered_entry ||
        die "no kernel in $CACHE is built from $FRAGMENT and the options as they are now; build it with: $GUEST_DIR/build.sh"
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
    point_link "$CACHE/by-inputs/$INPUTS" "../$key"
    # Where there is no default yet, the only kernel is it.
    if is_default || [[ ! -e $CACHE/current ]]; then point_link "$CACHE/current" "$key"; fi
    say "ready: Linux $(json_field "$1/kernel.json" version) from" \
        "$(json_field "$1/kernel.json" source_package) in $CACHE/$key"
    if [[ -L $CACHE/chosen && $(readlink -- "$CACHE/chosen") != "$key" ]]; then
        say "studies that name no kernel have $(readlink -- "$CACHE/chosen"), as 'netwarp kernel default' has chosen"
    fi
    if [[ $(json_field "$1/kernel.json" seccomp) == false ]]; then
        say "its guest programs run under ptrace; Linux 6.16 and later do without"
    fi
}

take_lock() {
    mkdir -p -- "$CACHE" || die "cannot create $CACHE; choose another place with --cache DIR"
    exec {LOCK}>"$CACHE/lock"
    flock --nonblock "$LOCK" || {
        say "another build is under way in $CACHE; waiting for it"
        flock "$LOCK"
    }
    # The lock is ours, so what a killed build left behind is nobody's.
    rm -rf -- "$CACHE"/build.*
}
