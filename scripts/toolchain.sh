# shellcheck shell=bash disable=SC2034  # what it sets is used by the scripts that source it
# Where netwarp's tools are: sourced by setup.sh and test.sh, so that both use the same Python, Rust and directories.

REPO="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)"
readonly REPO
readonly VENV="$REPO/.venv"
# What is built once for all checkouts of this user.
readonly CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/netwarp"
export CARGO_TARGET_DIR="$CACHE/target"
# Each checkout's incremental state of the tests is over 1 GB, and hardly ever the state of the next one's.
export CARGO_INCREMENTAL=0

# These scripts are run by make, whose flags are not meant for the make and cargo below them.
unset MAKEFLAGS MFLAGS MAKELEVEL

# Says so where programs in guests would not see this checkout (endpoint/programs/src/root.rs).
warn_of_hidden_place() {
    local hidden
    for hidden in /tmp /run /dev/shm; do
        [[ $REPO/ == "$hidden"/* ]] || continue
        printf '%s: %s is below %s, which programs in guests find empty: studies run, but programs, stacks and\n' \
            "$1" "$REPO" "$hidden" >&2
        printf 'endpoints of this checkout do not, and tests of them fail. Clone it elsewhere.\n' >&2
    done
}

readonly OLDEST_PYTHON=3.11
OLDEST_RUST=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$REPO/endpoint/Cargo.toml")
readonly OLDEST_RUST

# True when version $1 is at least $2.
at_least() {
    [[ $(printf '%s\n' "$2" "$1" | sort -V | sed -n 1p) == "$2" ]]
}

is_good_python() {
    "$1" -c "import sys; sys.exit(sys.version_info < (${OLDEST_PYTHON/./, }))" 2>/dev/null
}

# Prints a Python that is new enough: the user's own choice first, then the newest the system has.
find_python() {
    local python
    for python in python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
        if is_good_python "$python"; then
            command -v "$python"
            return
        fi
    done
    return 1
}

# Sets CARGO and exports RUSTC to a pair that is new enough.
find_rust() {
    local cargo rustc suffix
    while read -r cargo; do
        suffix=${cargo##*/cargo}
        rustc="${cargo%/*}/rustc$suffix"
        if [[ -x $cargo && -x $rustc ]] && at_least "$("$rustc" --version | cut -d ' ' -f 2)" "$OLDEST_RUST"; then
            CARGO=$cargo
            export RUSTC=$rustc
            return
        fi
    done < <(rust_candidates)
    return 1
}

# Prints where a cargo may be: in PATH, as rustup installs it, or one of the versioned ones that Ubuntu installs beside
# its default (/usr/bin/cargo-1.89 with /usr/bin/rustc-1.89), newest first. Under `set -e` the list would end with the
# first place that has none, so none of these may fail.
rust_candidates() {
    command -v cargo || true
    echo "$HOME/.cargo/bin/cargo"
    compgen -G "/usr/bin/cargo-1.*" | sort -rV || true
}
