#!/usr/bin/env bash
# Builds the guest kernel (User-Mode Linux with time travel) and its getrandom shim into a cache outside the tree.
#
# The kernel is GPL-2.0 and never part of this repository: its source comes from Debian's archive, checked against
# Debian's keys, and is built on the machine that uses it. What this script promises its callers:
#
#   <cache>/current/                  the kernel of the last successful call, a symlink to <cache>/<key>/
#   <cache>/<key>/linux               the kernel, stripped
#   <cache>/<key>/config              its complete configuration
#   <cache>/<key>/kernel.json         where it comes from and how it was made
#   <cache>/<key>/getrandom_shim.so   what makes its random numbers repeatable
#
# An entry appears by one rename when it is complete, and nothing in it changes afterwards.
set -euo pipefail
export LC_ALL=C

GUEST_DIR="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)"
readonly GUEST_DIR
readonly FRAGMENT="$GUEST_DIR/kernel.config"
readonly SHIM_SOURCE="$GUEST_DIR/getrandom_shim.c"

# shellcheck source=guest/source.sh
source "$GUEST_DIR/source.sh"

# Part of the key: raise it when this script begins to build something else from the same inputs.
readonly RECIPE=1
# TCA_NETEM_PRNG_SEED, without which loss cannot be repeated, came with 6.6.
readonly OLDEST_KERNEL=6.6
# The unpacked source takes 1.8 GB; objects, package and kernel another 0.5 GB.
readonly NEEDED_MB=2500
readonly ENTRY_FILES=(linux config kernel.json getrandom_shim.so)

SOURCE=
JOBS=$(nproc)
CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/netwarp/kernel"
PRINT=false
REFRESH=false
ONLY_PINNED=false

main() {
    parse_arguments "$@"
    PATCHES=()
    mapfile -t PATCHES < <(compgen -G "$GUEST_DIR/patches/*.patch")
    readonly PATCHES
    INPUTS=$(hash_inputs)
    readonly INPUTS

    if $PRINT; then
        print_entry
        return
    fi
    if ! $REFRESH && remembered_entry >/dev/null; then
        use_entry "$(remembered_entry)"
        return
    fi
    require_tools
    take_lock
    # Another call may have built it while this one waited for the lock.
    if ! $REFRESH && remembered_entry >/dev/null; then
        use_entry "$(remembered_entry)"
        return
    fi
    build_entry
}

usage() {
    cat <<EOF
Usage: guest/build.sh [options]

Builds netwarp's guest kernel from the newest suitable source, once; a second call finds it built and is done.
Sources, in this order: --source; Debian's newest linux-source package in $BACKPORTS; this machine's own
newest linux-source package, $OLDEST_KERNEL or later. Each fallback is said, with its reason.

Options:
  --source PATH   build from this kernel source tarball instead
  --jobs N        compile N files at a time (default: $JOBS, the number of CPUs)
  --cache DIR     where kernels are kept (default: $CACHE)
  --pinned        build only from a source whose SHA-256 is in guest/sources.sha256
  --refresh       look for a newer source, even if a kernel is built
  --print         print the directory of the built kernel, and build nothing; exit 1 if there is none
  --help          print this text

Environment:
  NETWARP_DEBIAN_MIRROR   URI of a Debian archive (default: the one in this machine's apt sources)
EOF
}

parse_arguments() {
    while (($#)); do
        case $1 in
        --source | --jobs | --cache)
            (($# >= 2)) || usage_error "$1 needs a value"
            [[ -n $2 ]] || usage_error "$1 needs a value, not an empty one"
            case $1 in
            --source) SOURCE=$2 ;;
            --jobs) JOBS=$2 ;;
            --cache) CACHE=$2 ;;
            esac
            shift 2
            ;;
        --refresh) REFRESH=true && shift ;;
        --pinned) ONLY_PINNED=true && shift ;;
        --print) PRINT=true && shift ;;
        --help | -h)
            usage
            exit 0
            ;;
        *) usage_error "unknown option '$1'" ;;
        esac
    done
    [[ $JOBS =~ ^[1-9][0-9]*$ ]] || usage_error "--jobs $JOBS: not a positive whole number"
    [[ -z $SOURCE || -f $SOURCE ]] || usage_error "--source $SOURCE: no such file"
    CACHE=$(realpath -m -- "$CACHE")
    # The kernel's own makefile refuses such a path, only much later and less clearly.
    [[ ! $CACHE =~ [[:space:]:] ]] ||
        usage_error "$CACHE: a kernel cannot be built below a path with spaces or colons; choose another: --cache DIR"
    readonly SOURCE JOBS CACHE PRINT REFRESH ONLY_PINNED
}

say() { printf 'guest kernel: %s\n' "$*" >&2; }

die() {
    printf 'guest kernel: error: %s\n' "$*" >&2
    exit 1
}

usage_error() {
    printf 'guest kernel: error: %s (guest/build.sh --help lists the options)\n' "$*" >&2
    exit 2
}

# --- The cache ----------------------------------------------------------------------------------------------

# Everything in the repository, or given by the caller, that decides what is built; a comment does not. Which source
# the archive offers is not among it: the first look decides, and is remembered under this hash until --refresh.
hash_inputs() {
    {
        echo "recipe $RECIPE"
        grep -E '^(CONFIG_|#\? )' -- "$FRAGMENT" | sha256sum
        grep -vE '^[[:space:]]*(//|$)' -- "$SHIM_SOURCE" | sha256sum
        local patch
        for patch in "${PATCHES[@]}"; do sha256sum <"$patch"; done
        [[ -z $SOURCE ]] || sha256sum <"$SOURCE"
    } | short_hash
}

short_hash() { sha256sum | cut -c 1-16; }

is_complete() {
    local file
    for file in "${ENTRY_FILES[@]}"; do
        [[ -s $1/$file ]] || return 1
    done
}

remembered_entry() {
    local entry
    entry=$(realpath -e -- "$CACHE/by-inputs/$INPUTS" 2>/dev/null) && is_complete "$entry" && printf '%s\n' "$entry"
}

print_entry() {
    remembered_entry ||
        die "no kernel in $CACHE is built from $FRAGMENT as it is now; build it with: $GUEST_DIR/build.sh"
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
    point_link "$CACHE/current" "$key"
    say "ready: Linux $(json_field "$1/kernel.json" version) from" \
        "$(json_field "$1/kernel.json" source_package) in $CACHE/$key"
    if [[ $(json_field "$1/kernel.json" seccomp) == false ]]; then
        say "its guest programs run under ptrace; Linux 6.16 and later do without: guest/build.sh --refresh looks again"
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

# --- One build ----------------------------------------------------------------------------------------------

build_entry() {
    local free_mb
    free_mb=$(df --output=avail -BM -- "$CACHE" | tail -n 1 | tr -dc 0-9)
    ((free_mb >= NEEDED_MB)) ||
        die "a build needs $NEEDED_MB MB and $CACHE has $free_mb MB free; make room, or choose another: --cache DIR"

    WORK=$(mktemp -d -- "$CACHE/build.XXXXXX")
    MAKE_PID=
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP

    obtain_source
    if is_complete "$CACHE/$KEY"; then
        use_entry "$CACHE/$KEY"
        return
    fi

    local started=$SECONDS
    unpack_source
    apply_patches
    configure
    compile
    build_shim
    describe $((SECONDS - started))
    publish
}

clean_up() {
    if [[ -n $MAKE_PID ]]; then
        kill -- "-$MAKE_PID" 2>/dev/null || true
        wait "$MAKE_PID" || true
        [[ ! -t 2 ]] || echo >&2
        say "interrupted; nothing of this build is kept"
    fi
    rm -rf -- "$WORK"
}

require_tools() {
    local tool missing=()
    for tool in gcc make ld flex bison bc patch tar xz flock setpriv; do
        command -v "$tool" >/dev/null || missing+=("$tool")
    done
    ((${#missing[@]} == 0)) ||
        die "these tools are missing: ${missing[*]}; install them with: scripts/setup.sh packages"
}

# --- From source to kernel ----------------------------------------------------------------------------------

unpack_source() {
    say "unpacking $(basename -- "$TARBALL")"
    TARBALL_HASH=$(sha256sum <"$TARBALL" | cut -d ' ' -f 1)
    check_pin
    TARBALL_TIME=$(stat -c %Y -- "$TARBALL")
    TREE="$WORK/source"
    mkdir -- "$TREE"
    tar -xf "$TARBALL" -C "$TREE" --strip-components=1 --no-same-owner ||
        die "$TARBALL cannot be unpacked: is it a complete kernel source tarball?"
    [[ -f $TREE/arch/um/Kconfig ]] || die "$TARBALL holds no Linux kernel with the um architecture"
    VERSION=$(kernel_make -s kernelversion)
    is_new_enough "$VERSION" || die "$TARBALL is Linux $VERSION, and netwarp needs $OLDEST_KERNEL or later"
}

apply_patches() {
    local patch
    for patch in "${PATCHES[@]}"; do
        say "applying ${patch##*/}"
        patch --directory="$TREE" --strip=1 --forward --fuzz=0 --quiet <"$patch" >&2 ||
            die "$patch does not apply to Linux $VERSION"
    done
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
    local wanted="$WORK/fragment" log="$WORK/configure.log" missing
    sed 's/^#? //' -- "$FRAGMENT" >"$wanted"
    # -n: what the fragment does not name is off (allnoconfig), instead of at its default.
    if ! (cd -- "$TREE" && env -i PATH="$PATH" HOME="$HOME" LC_ALL=C ARCH=um \
        scripts/kconfig/merge_config.sh -n -O "$TREE" /dev/null "$wanted") >"$log" 2>&1; then
        tail -n 20 -- "$log" >&2
        die "Linux $VERSION cannot be configured"
    fi
    # Kconfig drops in silence what it does not know and what lacks a dependency.
    missing=$(grep -E '^CONFIG_' -- "$FRAGMENT" | grep -vxFf "$TREE/.config" || true)
    [[ -z $missing ]] ||
        die "Linux $VERSION does not take these lines of $FRAGMENT (unknown, or a dependency is missing):
$missing"
}

compile() {
    local log="$WORK/make.log" started=$SECONDS
    say "compiling Linux $VERSION with $JOBS jobs; this takes about 6 CPU-minutes, once"
    # Its own process group, so that clean_up can end make with everything below it.
    set -m
    kernel_make -j "$JOBS" linux >"$log" 2>&1 </dev/null &
    MAKE_PID=$!
    set +m
    show_progress "$log" "$started"
    local status=0
    wait "$MAKE_PID" || status=$?
    MAKE_PID=
    if ((status != 0)); then
        cp -- "$log" "$CACHE/failed-build.log"
        grep -nE 'error:|Error [0-9]|not found|undefined reference' -- "$log" | head -n 20 >&2 || true
        die "Linux $VERSION does not compile with $(gcc_version); the whole log is in $CACHE/failed-build.log"
    fi
    say "compiled $(count_objects "$log") files in $((SECONDS - started)) s"
    strip -o "$WORK/linux" -- "$TREE/linux"
    # Proof that this machine can execute it; whether it boots is for 'netwarp doctor' to say.
    "$WORK/linux" --version >/dev/null || die "the kernel was built but does not start: $TREE/linux --version failed"
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

build_shim() {
    gcc -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -shared -fPIC -o "$WORK/getrandom_shim.so" "$SHIM_SOURCE" ||
        die "$SHIM_SOURCE does not compile with $(gcc_version)"
}

gcc_version() { gcc --version | sed -n 1p; }

# --- What was built -----------------------------------------------------------------------------------------

json_string() {
    local text=${1//\\/\\\\}
    printf '"%s"' "${text//\"/\\\"}"
}

json_field() { sed -n "s/^  \"$2\": \"\\{0,1\\}\\([^\"]*\\)\"\\{0,1\\},\$/\\1/p" -- "$1"; }

describe() {
    local seconds=$1 seccomp=false patch_names=() patch
    # Asked of the kernel itself: the option came with 6.16, but a distribution may carry it earlier.
    if "$WORK/linux" --help 2>&1 | grep -c '^seccomp=' >/dev/null; then seccomp=true; fi
    for patch in "${PATCHES[@]}"; do patch_names+=("$(json_string "${patch##*/}")"); done
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

main "$@"
