#!/usr/bin/env bash
# Builds the kernel's own tests of the network (tools/testing/selftests/net) from the very source that a guest kernel
# was built of, into a cache beside the kernels.
#
#   <cache>/<key>/tools/testing/selftests/net/…   the tests, with what their Makefile builds
#   <cache>/<key>/tests                           one a line: folder below selftests, a colon, file
#   <cache>/<key>/selftests.json                  of which kernel and source they are
#
# <key> is the kernel's. An entry appears by one rename when it is complete.
set -euo pipefail
export LC_ALL=C

GUEST_DIR="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)"
readonly GUEST_DIR

# shellcheck source=guest/cache.sh
source "$GUEST_DIR/cache.sh"
# shellcheck source=guest/source.sh
source "$GUEST_DIR/source.sh"
# shellcheck source=guest/tools.sh
source "$GUEST_DIR/tools.sh"

# The folders whose tests are built, of those that the source has.
readonly COLLECTIONS=(net net/mptcp net/af_unix net/packetdrill)
# What is neither part of the tests nor of the headers that they include.
readonly LEFT_OUT=(block certs crypto drivers fs io_uring ipc kernel lib mm rust samples security sound virt)
readonly NEEDED_MB=2000

# What is built.
KERNEL=
SOURCE=
GIT=
REF=
CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/netwarp/selftests"
# As in build.sh: no tree is kept.
# shellcheck disable=SC2034
readonly KEPT_TREE=
# Every release is asked for the package, as for a version that is named (source.sh).
# shellcheck disable=SC2034
readonly SERIES=any

usage() {
    cat <<EOF
Usage: guest/selftests.sh --kernel DIR [options]

Builds the network tests of the source that the kernel in DIR (of guest/build.sh) was built of. A package of Debian's is
fetched again, in that version; of any other source, say where it is.

Options:
  --source PATH   the kernel's source: a tarball, or a directory
  --git DIR       the kernel's source is a commit in this git repository
  --ref REF       which commit (with --git)
  --cache DIR     where tests are kept (default: $CACHE)
EOF
}

main() {
    parse_arguments "$@"
    KEY=$(json_field "$KERNEL/kernel.json" key)
    VERSION=$(json_field "$KERNEL/kernel.json" version)
    [[ -n $KEY && -n $VERSION ]] || die "$KERNEL holds no kernel of 'netwarp kernel build'"
    WORK=
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    take_lock
    if [[ -s $CACHE/$KEY/selftests.json ]]; then return; fi
    require_tools gcc make tar xz setpriv ${GIT:+git}
    make_work_directory "$NEEDED_MB"
    obtain_same_source
    unpack
    build
    publish
}

say() { printf 'selftests: %s\n' "$*" >&2; }

die() {
    printf 'selftests: error: %s\n' "$*" >&2
    exit 1
}

parse_arguments() {
    while (($#)); do
        case $1 in
        --kernel | --source | --git | --ref | --cache)
            [[ -n ${2:-} ]] || die "$1 needs a value"
            case $1 in
            --kernel) KERNEL=$2 ;;
            --source) SOURCE=$2 ;;
            --git) GIT=$2 ;;
            --ref) REF=$2 ;;
            --cache) CACHE=$2 ;;
            esac
            shift 2
            ;;
        --help | -h)
            usage
            exit 0
            ;;
        *) die "unknown argument '$1' (guest/selftests.sh --help lists the options)" ;;
        esac
    done
    [[ -s $KERNEL/kernel.json ]] || die "--kernel $KERNEL: there is no kernel.json"
    [[ -z $SOURCE || -z $GIT ]] || die "--source beside --git: the kernel was built of one source"
    [[ -z $GIT || -n $REF ]] || die "--git needs --ref: a tag, branch or hash"
    [[ -z $SOURCE || -f $SOURCE || -d $SOURCE ]] || die "--source $SOURCE: no such file or directory"
    CACHE=$(realpath -m -- "$CACHE")
    readonly KERNEL SOURCE GIT REF CACHE
}

clean_up() { [[ -z $WORK ]] || rm -rf -- "$WORK"; }

# Sets TARBALL to the source of which the kernel was built.
obtain_same_source() {
    local reason
    PACKAGE=$(json_field "$KERNEL/kernel.json" source_package)
    PACKAGE_VERSION=$(json_field "$KERNEL/kernel.json" source_version)
    if [[ -n $SOURCE || -n $GIT ]]; then
        identify_source
        take_given_source
    elif [[ $PACKAGE != linux-source-* ]]; then
        die "the kernel $KEY was built of $PACKAGE ($PACKAGE_VERSION): say where that source is, with --source PATH, or
  with --git DIR --ref REF"
    elif ! obtain_from_debian obtain_exactly; then
        reason=$REASON
        # shellcheck disable=SC2119  # of this machine's own archive
        obtain_exactly ||
            die "the source of the kernel $KEY, $PACKAGE $PACKAGE_VERSION, is not to be had
  from $reason
  from this machine's package archive: $REASON
  Give its tarball with --source PATH, or name a kernel whose source the archive still has"
    fi
    is_same_source || die "$PACKAGE ($PACKAGE_VERSION) is not the source that the kernel $KEY was built of: give that one"
}

# A commit is known by its hash, everything else by that of its tarball.
is_same_source() {
    local info="$KERNEL/kernel.json"
    if [[ -n $GIT ]]; then
        [[ $COMMIT == "$(json_field "$info" source_version)" ]]
    else
        [[ $(sha256sum <"$TARBALL" | cut -d ' ' -f 1) == "$(json_field "$info" source_sha256)" ]]
    fi
}

unpack() {
    local each without=()
    TREE="$WORK/source"
    mkdir -- "$TREE"
    say "unpacking $(basename -- "$TARBALL")"
    # At the top alone: the tests' folder has some of the same names.
    for each in "${LEFT_OUT[@]}"; do without+=("--exclude=*/$each"); done
    unpack_tarball --no-same-owner --anchored --wildcards --no-wildcards-match-slash "${without[@]}"
    [[ -d $TREE/tools/testing/selftests/net ]] || die "the source of Linux $VERSION has no tools/testing/selftests/net"
}

# An empty environment, as for kernels (build.sh), and make ends with this script.
tests_make() {
    env -i PATH="$PATH" HOME="$HOME" TMPDIR="${TMPDIR:-/tmp}" LC_ALL=C \
        setpriv --pdeathsig TERM make --no-print-directory ARCH=x86 "$@" </dev/null
}

# A program that does not compile here (for want of clang, or of a library) is left out: a test that is missing for that
# reason is skipped, and says so.
build() {
    local each log="$WORK/make.log"
    tests_make -C "$TREE" -j "$(nproc)" headers >"$log" 2>&1 || {
        tail -n 20 -- "$log" >&2
        die "the headers of Linux $VERSION cannot be made"
    }
    for each in "${COLLECTIONS[@]}"; do
        [[ -f $TREE/tools/testing/selftests/$each/Makefile ]] || continue
        say "building $each; all of them take some minutes, once"
        tests_make -C "$TREE/tools/testing/selftests/$each" -k -j "$(nproc)" all >>"$log" 2>&1 || true
        tests_make -s -C "$TREE/tools/testing/selftests/$each" COLLECTION="$each" emit_tests >>"$WORK/tests" 2>>"$log" || {
            tail -n 20 -- "$log" >&2
            die "the tests of $each cannot be listed"
        }
    done
}

publish() {
    local each entry="$WORK/entry"
    # Beside the tests, what they find by a path from where they are.
    for each in tools/testing/selftests/{net,kselftest,kselftest.h,kselftest_harness.h,lib.mk,lib} tools/net \
        Documentation/netlink; do
        [[ -e $TREE/$each ]] || continue
        mkdir -p -- "$(dirname -- "$entry/$each")"
        mv -- "$TREE/$each" "$entry/$each"
    done
    mv -- "$WORK/tests" "$WORK/make.log" "$entry/"
    printf '{\n  "kernel": "%s",\n  "version": "%s",\n  "source_sha256": "%s"\n}\n' "$KEY" "$VERSION" \
        "$(json_field "$KERNEL/kernel.json" source_sha256)" >"$entry/selftests.json"
    chmod 755 -- "$entry"
    # Only an incomplete entry, which somebody took files out of, can be in the way.
    rm -rf -- "${CACHE:?}/$KEY"
    mv -T -- "$entry" "$CACHE/$KEY"
    say "ready: $(wc -l <"$CACHE/$KEY/tests") tests of Linux $VERSION in $CACHE/$KEY"
}

main "$@"
