#!/bin/sh
# netwarp in a job of continuous integration, without a compiler, root or a package of the distribution.
#
#   sh ci.sh install                        the wheels of $NETWARP_WHEELS, into $NETWARP_HOME
#   sh ci.sh run run study.toml --quick     a command of netwarp: run, compare, exec, …
#
# NETWARP_WHEELS is a directory of wheels, or the URL of one with SHA256SUMS, as every release has. NETWARP_HOME is where
# netwarp is installed (~/.cache/netwarp-ci), which may be kept from one job to the next. What `run` and `compare` find
# is in $NETWARP_OUT (netwarp-ci): results/ with report.html, junit.xml, summary.md. The exit status is netwarp's: 0 when
# all runs happened and every expectation holds, 1 when one does not, 3 when one is undecided.
set -eu

HERE=$(cd -- "$(dirname -- "$0")" && pwd)
NETWARP_HOME=${NETWARP_HOME:-$HOME/.cache/netwarp-ci}
NETWARP_OUT=${NETWARP_OUT:-netwarp-ci}

main() {
    command=${1-}
    [ $# -eq 0 ] || shift
    case $command in
    install) install ;;
    run) run "$@" ;;
    *) die "usage: ci.sh install, or ci.sh run COMMAND [ARGUMENTS]" ;;
    esac
}

die() {
    echo "ci.sh: $*" >&2
    exit 2
}

install() {
    [ -n "${NETWARP_WHEELS:-}" ] || die "NETWARP_WHEELS names no directory or URL of a release's wheels"
    if [ "$(uname -s) $(uname -m)" != "Linux x86_64" ]; then
        die "netwarp runs on Linux on x86-64, and this is $(uname -s) on $(uname -m): choose such a runner (runs-on: ubuntu-latest), on Windows WSL2"
    fi
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
        die "netwarp needs Python 3.11 or later, and this is $(python3 --version 2>&1): install one first (actions/setup-python)"
    python3 -c 'import os; os.confstr("CS_GNU_LIBC_VERSION")' 2>/dev/null ||
        die "netwarp's wheels need glibc, and this system has another C library (musl, as in Alpine): choose an image of Debian, Ubuntu or Fedora"
    python3 -c 'import sys; sys.exit(sys.maxsize < 2**32)' ||
        die "netwarp needs a Python of 64 bits, and this one has 32: install one for x86_64"
    # What is installed stays for the same files, or the same release.
    wanted=$NETWARP_WHEELS
    case $NETWARP_WHEELS in
    *://*) ;;
    *)
        for wheel in netwarp netwarp_kernel; do
            set -- "$NETWARP_WHEELS/$wheel"-*.whl
            [ -f "$1" ] || die "NETWARP_WHEELS is $NETWARP_WHEELS, where no $wheel-*.whl is: name a directory with a release's two wheels, or a URL"
        done
        wanted=$(cat -- "$NETWARP_WHEELS"/netwarp*.whl | sha256sum)
        ;;
    esac
    if [ "$(cat -- "$NETWARP_HOME/wheels.txt" 2>/dev/null)" = "$wanted" ] &&
        "$NETWARP_HOME/bin/netwarp" --version >/dev/null 2>&1; then
        echo "kept: $("$NETWARP_HOME/bin/netwarp" --version) in $NETWARP_HOME"
        return
    fi
    wheels=$NETWARP_WHEELS
    if [ ! -d "$wheels" ]; then
        wheels=$(mktemp -d)
        python3 "$HERE/fetch.py" "$NETWARP_WHEELS" "$wheels"
    fi
    python3 -m venv --clear "$NETWARP_HOME" || die "python3 cannot make a virtual environment (Debian: apt-get install python3-venv)"
    "$NETWARP_HOME/bin/pip" install --quiet --disable-pip-version-check --no-compile "$wheels"/netwarp*.whl
    "$NETWARP_HOME/bin/netwarp" --version
    printf '%s\n' "$wanted" >"$NETWARP_HOME/wheels.txt"
}

run() {
    [ $# -gt 0 ] || die "run what? such as: ci.sh run run study.toml"
    PATH=$NETWARP_HOME/bin:$PATH
    status=0
    mkdir -p -- "$NETWARP_OUT"
    summary=$NETWARP_OUT/summary.md
    # What an earlier command left says nothing of this one, and netwarp replaces no file that it did not write.
    rm -f -- "$summary" "$NETWARP_OUT/junit.xml" "$NETWARP_OUT/output.txt"
    case $1 in
    run | compare)
        netwarp "$@" --out "$NETWARP_OUT/results" --junit "$NETWARP_OUT/junit.xml" --markdown "$summary" || status=$?
        python3 "$HERE/annotations.py" "$NETWARP_OUT/junit.xml" "$2"
        ;;
    *)
        netwarp "$@" >"$NETWARP_OUT/output.txt" 2>&1 || status=$?
        cat -- "$NETWARP_OUT/output.txt"
        { echo "## netwarp $1: exit status $status"; sed 's/^/    /' "$NETWARP_OUT/output.txt"; } >"$summary"
        ;;
    esac
    if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -f "$summary" ]; then cat -- "$summary" >>"$GITHUB_STEP_SUMMARY"; fi
    if [ -n "${GITHUB_OUTPUT:-}" ]; then
        printf 'status=%s\ndirectory=%s\n' "$status" "$NETWARP_OUT" >>"$GITHUB_OUTPUT"
    fi
    return "$status"
}

main "$@"
