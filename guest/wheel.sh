# shellcheck shell=bash
# A kernel that is built already, taken out of a release's wheel: sourced by build.sh, whose say, die and variables it uses.

# Puts the kernel of the wheel $WHEEL into the cache, if building it here would be the same: of the pinned source, with
# these scripts, this configuration and these patches, which its key hashes. Its files are what it says that they are;
# whether the wheel is a release's is for its SHA256SUMS to say.
take_wheel() {
    local entry info version source key
    require_tools python3
    python3 -m zipfile -e "$WHEEL" "$WORK/wheel" 2>/dev/null || die "$WHEEL cannot be unpacked: is it a whole wheel?"
    entry=$(compgen -G "$WORK/wheel/netwarp_kernel/*/kernel.json") || die "$WHEEL has no kernel: name a netwarp_kernel-*.whl"
    entry=${entry%/kernel.json} info=$entry/kernel.json
    is_complete "$entry" || die "$WHEEL lacks a file of its kernel: is it a whole wheel?"
    version=$(json_field "$info" version)
    source="$(json_field "$info" source_package) $(json_field "$info" source_version)"
    key=$(key_of "$version" "$source")
    [[ $(json_field "$info" key) == "$key" ]] ||
        die "$WHEEL has the kernel $(json_field "$info" key), and guest/ as it is now makes $key: take the wheel of this
  commit's release, or build the kernel (without --wheel)"
    if ! is_of_pinned_source "$entry" || ! is_known_source "$(json_field "$info" source_sha256)"; then
        die "$WHEEL has a kernel of $source, which is not what guest/sources.sha256 pins: build the kernel (without --wheel)"
    fi
    is_of_hash "$entry/linux" "$(json_field "$info" kernel_sha256)"
    is_of_hash "$entry/config" "$(json_field "$info" config_sha256)"
    chmod 755 -- "$entry" "$entry/linux"
    "$entry/linux" --version >/dev/null || die "the kernel of $WHEEL does not start here: build it (without --wheel)"
    rm -rf -- "${CACHE:?}/$key"
    mv -T -- "$entry" "$CACHE/$key"
    use_entry "$CACHE/$key"
}

is_of_hash() {
    [[ $(sha256sum <"$1" | cut -d ' ' -f 1) == "$2" ]] ||
        die "$WHEEL is damaged: its $(basename -- "$1") is not what its kernel.json says; get it again"
}
