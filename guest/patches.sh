# shellcheck shell=bash
# shellcheck disable=SC2153  # VERSION is build.sh's
# Patches to the kernel's source: netwarp's own (guest/patches, each with the versions it is for) and the user's.
# Sourced by build.sh, whose die and variables it uses.

# netwarp's patches for a version; a line of each says which it is for: "Linux-Versions: FROM BEFORE".
patches_for() {
    local version=$1 patch from before
    for patch in "$PATCH_DIR"/*.patch; do
        [[ -f $patch ]] || continue
        read -r from before < <(sed -n 's/^Linux-Versions: //p' -- "$patch") ||
            die "$patch does not say which versions it is for (Linux-Versions: FROM BEFORE)"
        if is_at_least "$from" "$version" && ! is_at_least "$before" "$version"; then printf '%s\n' "$patch"; fi
    done
}

# Hash of netwarp's patches for a version; empty where there are none.
hash_patches() {
    local patches=()
    mapfile -t patches < <(patches_for "$1")
    ((${#patches[@]} == 0)) || cat -- "${patches[@]}" | short_hash
}

apply_patches() {
    local patch
    mapfile -t PATCHES < <(patches_for "$VERSION")
    PATCHES+=("${OWN_PATCHES[@]}")
    for patch in "${PATCHES[@]}"; do
        say "applying ${patch##*/}"
        patch --directory="$TREE" --strip=1 --forward --fuzz=0 --quiet <"$patch" >&2 ||
            die_of_source "${patch##*/} does not apply to Linux $VERSION: make it of this very source (lines are matched exactly)"
    done
}
