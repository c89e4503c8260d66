#!/usr/bin/env bash
# Builds the guest kernel (User-Mode Linux with time travel) into a cache outside the tree.
#
# The kernel is GPL-2.0 and never part of this repository: its source comes from Debian's archive, checked against
# Debian's keys, and is built on the machine that uses it. What this script promises its callers:
#
#   <cache>/current/       the kernel of the last successful call that named none, a symlink to <cache>/<key>/
#   <cache>/<key>/linux        the kernel, stripped; its random numbers are those of $NETWARP_SEED
#   <cache>/<key>/config       its complete configuration
#   <cache>/<key>/kernel.json  where it comes from and how it was made
#
# An entry appears by one rename when it is complete, and nothing in it changes afterwards.
set -euo pipefail
export LC_ALL=C

GUEST_DIR="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)"
readonly GUEST_DIR

# shellcheck source=guest/inputs.sh
source "$GUEST_DIR/inputs.sh"
# shellcheck source=guest/arguments.sh
source "$GUEST_DIR/arguments.sh"
# shellcheck source=guest/cache.sh
source "$GUEST_DIR/cache.sh"
# shellcheck source=guest/modules.sh
source "$GUEST_DIR/modules.sh"
# shellcheck source=guest/patches.sh
source "$GUEST_DIR/patches.sh"
# shellcheck source=guest/seeded.sh
source "$GUEST_DIR/seeded.sh"
# shellcheck source=guest/source.sh
source "$GUEST_DIR/source.sh"
# shellcheck source=guest/tools.sh
source "$GUEST_DIR/tools.sh"
# shellcheck source=guest/kept_tree.sh
source "$GUEST_DIR/kept_tree.sh"
# shellcheck source=guest/wheel.sh
source "$GUEST_DIR/wheel.sh"

# Part of the key: raise it when this script begins to build something else from the same inputs.
readonly RECIPE=2
# TCA_NETEM_PRNG_SEED, without which loss cannot be repeated, came with 6.6: older kernels are built where they are asked
# for, and are nobody's default.
readonly OLDEST_DEFAULT=6.6
# What netwarp's configuration and its patches were tried with.
readonly OLDEST_KERNEL=6.1
# The unpacked source takes 1.8 GB; objects, package and kernel another 0.5 GB.
readonly NEEDED_MB=2500
readonly ENTRY_FILES=(linux config kernel.json)

# --- From options to an entry -------------------------------------------------------------------------------

main() {
    parse_arguments "$@"
    hash_inputs

    if $PRINT; then
        print_entry
        return
    fi
    if ! $REFRESH && remembered_entry >/dev/null; then
        use_entry "$(remembered_entry)"
        return
    fi
    if [[ -z $WHEEL ]]; then require_what_compiles; fi
    take_lock
    # Another call may have built it while this one waited for the lock.
    if ! $REFRESH && remembered_entry >/dev/null; then
        use_entry "$(remembered_entry)"
        return
    fi
    build_entry
}

say() { printf 'guest kernel: %s\n' "$*" >&2; }

die() {
    printf 'guest kernel: error: %s\n' "$*" >&2
    exit 1
}

# For what is wrong with this source, and may be right in another commit.
die_of_source() {
    printf 'guest kernel: error: %s\n' "$*" >&2
    exit 4
}

# --- One build ----------------------------------------------------------------------------------------------

build_entry() {
    local needed_mb=$NEEDED_MB
    if [[ -n $WHEEL ]]; then needed_mb=50; fi
    # A directory or commit is packed first, to be hashed as one file.
    if [[ -n $KEPT_TREE ]]; then take_kept_tree; elif [[ -n $GIT || -d $SOURCE ]]; then needed_mb=$((NEEDED_MB + 1500)); fi
    make_work_directory "$needed_mb"
    MAKE_PID=
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP

    if [[ -n $WHEEL ]]; then
        take_wheel
        return
    fi
    copy_inputs
    KEY=
    obtain_source
    if [[ -n $KEY ]] && is_complete "$CACHE/$KEY"; then
        TARBALL_HASH=$(json_field "$CACHE/$KEY/kernel.json" source_sha256)
        ! $ONLY_PINNED || is_known_source "$TARBALL_HASH" || die_unpinned
        use_entry "$CACHE/$KEY"
        return
    fi

    local started=$SECONDS
    if [[ -n $KEPT_TREE ]]; then check_out_commit; else unpack_source; fi
    examine_source
    apply_patches
    add_modules
    add_getrandom
    configure
    compile
    describe $((SECONDS - started))
    publish
}

# shellcheck disable=SC2317  # a trap calls it
clean_up() {
    if [[ -n $MAKE_PID ]]; then
        kill -- "-$MAKE_PID" 2>/dev/null || true
        wait "$MAKE_PID" || true
        [[ ! -t 2 ]] || echo >&2
        say "interrupted; nothing of this build is kept"
    fi
    rm -rf -- "$WORK"
}

require_what_compiles() {
    require_tools gcc make ld flex bison bc patch tar xz flock setpriv ${GIT:+git}
    # Found out at once, and not when everything is compiled.
    [[ " ${CONFIG[*]} " == *" CONFIG_STATIC_LINK=n "* ]] || gcc -static -x c -o /dev/null - <<<'int main(void) { return 0; }' 2>/dev/null ||
        die "the C library cannot be linked in, as the kernel needs it (Debian: libc6-dev, Fedora: glibc-static); $(remedy)"
}

# --- From source to kernel ----------------------------------------------------------------------------------

unpack_source() {
    say "unpacking $(basename -- "$TARBALL")"
    TARBALL_HASH=$(sha256sum <"$TARBALL" | cut -d ' ' -f 1)
    if [[ -z $SOURCE$GIT ]]; then
        check_pin
        TARBALL_TIME=$(stat -c %Y -- "$TARBALL")
    elif $ONLY_PINNED && ! is_known_source "$TARBALL_HASH"; then
        die_unpinned
    fi
    TREE="$WORK/source"
    mkdir -- "$TREE"
    unpack_tarball --no-same-owner
    # What somebody has built in a directory is not part of its source.
    if [[ -d $SOURCE ]]; then (kernel_make -s mrproper >/dev/null); fi
}

# Sets VERSION, and KEY unless the package has set it.
examine_source() {
    [[ -f $TREE/arch/um/Kconfig ]] || die_of_source "$PACKAGE $(without_um)"
    VERSION=$(kernel_make -s kernelversion) || die_of_source "the Makefile of $PACKAGE says no version"
    is_at_least "$OLDEST_KERNEL" "$VERSION" ||
        die_of_source "$PACKAGE is Linux $VERSION, and netwarp needs $OLDEST_KERNEL or later"
    if [[ -z $KEY ]]; then KEY=$(key_of "$VERSION"); fi
}

# An empty environment but for this: the caller's may hold make flags (this script is run by a makefile) or a kernel
# developer's settings. User, host and time are fixed because the kernel's version line shows them to every guest.
# It takes the place of the subshell that calls it, $(…) or &, so that make is our own child and ends when we are killed.
kernel_make() {
    exec env -i PATH="$PATH" HOME="$HOME" TMPDIR="${TMPDIR:-/tmp}" LC_ALL=C \
        KBUILD_BUILD_USER=netwarp KBUILD_BUILD_HOST=netwarp KBUILD_BUILD_VERSION=1 \
        KBUILD_BUILD_TIMESTAMP="$(date -u -d "@$TARBALL_TIME")" \
        setpriv --pdeathsig TERM make -C "$TREE" --no-print-directory ARCH=um "$@"
}

configure() {
    local wanted="$WORK/fragment" log="$WORK/configure.log" overridden line missing
    # Where a line of the user's is about a symbol of the fragment, the user's holds.
    overridden=$(overridden_symbols)
    sed 's/^#? //' -- "$FRAGMENT" | grep -vE "^($overridden)=" >"$wanted"
    for line in "${CONFIG[@]}"; do echo "$line"; done >>"$wanted"
    module_lines >>"$wanted"
    # -n: what the fragment does not name is off (allnoconfig), instead of at its default.
    if ! (cd -- "$TREE" && env -i PATH="$PATH" HOME="$HOME" LC_ALL=C ARCH=um \
        scripts/kconfig/merge_config.sh -n -O "$TREE" /dev/null "$wanted") >"$log" 2>&1; then
        tail -n 20 -- "$log" >&2
        die_of_source "Linux $VERSION cannot be configured"
    fi
    # Kconfig drops in silence what it does not know and what lacks a dependency.
    missing=$(grep -E '^CONFIG_' -- "$FRAGMENT" | grep -vE "^($overridden)=" | grep -vxFf "$TREE/.config" || true)
    [[ -z $missing ]] ||
        die_of_source "Linux $VERSION does not take these lines of $GUEST_DIR/kernel.config (unknown, or a dependency is missing):
$missing"
    for line in $(module_lines); do
        grep -xF -- "$line" "$TREE/.config" >/dev/null || die "Linux $VERSION does not take $line, which builds a module in"
    done
    for line in "${CONFIG[@]}"; do
        if [[ $line == *=n ]]; then
            ! grep -E "^${line%=n}=" -- "$TREE/.config" >&2 ||
                die_of_source "Linux $VERSION does not take --config $line: others need it"
        else
            grep -xF -- "$line" "$TREE/.config" >/dev/null ||
                die_of_source "Linux $VERSION does not take --config $line: no such option, no prompt for it, or a dependency is missing"
        fi
    done
}

# As an extended regular expression; one that nothing matches where the user gave none.
overridden_symbols() {
    local line symbols=NONE
    for line in "${CONFIG[@]}"; do symbols+="|${line%%=*}"; done
    echo "$symbols"
}

compile() {
    local log="$WORK/make.log" started=$SECONDS objects
    say "compiling Linux $VERSION with $JOBS jobs; $(compiling_takes)"
    [[ -z $KEPT_TREE ]] || note_compiling
    mapfile -t objects < <(module_objects)
    # First what the user has written, so that a mistake in it shows in seconds.
    ((${#objects[@]} == 0)) || make_and_show "$log" "$started" "${objects[@]}"
    make_and_show "$log" "$started" linux
    [[ -z $KEPT_TREE ]] || note_compiled
    say "compiled $(count_objects "$log") files in $((SECONDS - started)) s"
    strip -o "$WORK/linux" -- "$TREE/linux"
    # Proof that this machine can execute it; whether it boots is for 'netwarp doctor' to say.
    "$WORK/linux" --version >/dev/null || die "the kernel was built but does not start: $TREE/linux --version failed"
}

make_and_show() {
    local log=$1 started=$2 status=0
    shift 2
    # Its own process group, so that clean_up can end make with everything below it.
    set -m
    kernel_make -j "$JOBS" "$@" >>"$log" 2>&1 </dev/null &
    MAKE_PID=$!
    set +m
    show_progress "$log" "$started"
    wait "$MAKE_PID" || status=$?
    MAKE_PID=
    ((status == 0)) || die_of_compiler "$log"
}

die_of_compiler() {
    local log=$1
    cp -- "$log" "$CACHE/failed-build.log"
    grep -nE 'error:|Error [0-9]|not found|undefined reference' -- "$log" | head -n 20 >&2 || true
    ! is_full "$TREE" || die_of_full_disk "$TREE"
    die_of_source "Linux $VERSION does not compile with $(gcc_version); the whole log is in $CACHE/failed-build.log"
}

count_objects() { grep -cE '^  (AR|AS|CC|HOSTCC|LD|VDSO) ' -- "$1" || true; }

# A live line on a terminal; a line every 15 s in a log, where a silent step would look like a hung one.
show_progress() {
    local log=$1 started=$2 next=15 elapsed
    while kill -0 "$MAKE_PID" 2>/dev/null; do
        sleep 1
        elapsed=$((SECONDS - started))
        if [[ -t 2 ]]; then
            printf '\rguest kernel: %d files, %d s ' "$(count_objects "$log")" "$elapsed" >&2
        elif ((elapsed >= next)); then
            say "$(count_objects "$log") files, $elapsed s"
            next=$((elapsed + 15))
        fi
    done
    [[ ! -t 2 ]] || printf '\r\033[K' >&2
}

compiling_takes() {
    if [[ -n $KEPT_TREE && -f $TREE/vmlinux ]]; then
        echo "only what differs from the commit before"
    else
        echo "this takes about 6 CPU-minutes, once"
    fi
}

gcc_version() { gcc --version | sed -n 1p; }

# --- What was built -----------------------------------------------------------------------------------------

json_string() {
    local text=${1//\\/\\\\}
    printf '"%s"' "${text//\"/\\\"}"
}

describe() {
    local seconds=$1 seccomp=false seeds=false waits=false patch_names=() config_lines=() modules=() patch line
    # Asked of the kernel itself: the option came with 6.16, but a distribution may carry it earlier.
    if "$WORK/linux" --help 2>&1 | grep -c '^seccomp=' >/dev/null; then seccomp=true; fi
    # Asked of the source that it was built of, for the same reason. What else runs need is told by its configuration.
    if grep -q TCA_NETEM_PRNG_SEED -- "$TREE/include/uapi/linux/pkt_sched.h"; then seeds=true; fi
    if grep -q IORING_ENTER_ABS_TIMER -- "$TREE/include/uapi/linux/io_uring.h"; then waits=true; fi
    for patch in "${PATCHES[@]}"; do patch_names+=("$(json_string "${patch##*/} $(short_hash <"$patch")")"); done
    for line in "${CONFIG[@]}"; do config_lines+=("$(json_string "$line")"); done
    for line in "${MODULE_FILES[@]}"; do modules+=("$(json_string "${line##*/} $(short_hash <"$line")")"); done
    cp -- "$TREE/.config" "$WORK/config"
    cat >"$WORK/kernel.json" <<EOF
{
  "version": $(json_string "$VERSION"),
  "release": $(json_string "$("$WORK/linux" --version)"),
  "key": $(json_string "$KEY"),
  "source_package": $(json_string "$PACKAGE"),
  "source_version": $(json_string "$PACKAGE_VERSION"),
  "source_sha256": $(json_string "$TARBALL_HASH"),
  "fragment_sha256": $(json_string "$(sha256sum <"$FRAGMENT" | cut -d ' ' -f 1)"),
  "config_sha256": $(json_string "$(sha256sum <"$WORK/config" | cut -d ' ' -f 1)"),
  "kernel_sha256": $(json_string "$(sha256sum <"$WORK/linux" | cut -d ' ' -f 1)"),
  "patches": [$(IFS=, && printf '%s' "${patch_names[*]}")],
  "patches_sha256": $(json_string "$(hash_patches "$VERSION")"),
  "own_config": [$(IFS=, && printf '%s' "${config_lines[*]}")],
  "own_patches": ${#OWN_PATCHES[@]},
  "own_modules": [$(IFS=, && printf '%s' "${modules[*]}")],
  "netem_seed": $seeds,
  "uring_abs_timer": $waits,
  "seeded_getrandom": true,
  "c_library": $(json_string "$(c_library)"),
  "gcc": $(json_string "$(gcc_version)"),
  "seccomp": $seccomp,
  "built": $(json_string "$(date -u +%Y-%m-%dT%H:%M:%SZ)"),
  "build_seconds": $seconds
}
EOF
}

publish() {
    local file entry="$WORK/entry"
    mkdir -- "$entry"
    for file in "${ENTRY_FILES[@]}"; do mv -- "$WORK/$file" "$entry/$file"; done
    chmod 755 -- "$entry"
    # Only an incomplete entry, which somebody took files out of, can be in the way.
    rm -rf -- "${CACHE:?}/$KEY"
    mv -T -- "$entry" "$CACHE/$KEY"
    say "deleting the source and its package"
    use_entry "$CACHE/$KEY"
}

# In braces with its end: bash reads a script as it goes on, and this one may change meanwhile.
{
    main "$@"
    exit
}
