#!/usr/bin/env bash
# Sets everything up on a fresh Debian or Ubuntu machine: system packages, Python, Rust endpoint, guest kernel.
#
# Each stage first looks whether its work is done, by what it would leave behind, and then needs neither the network
# nor any privilege; so every make target can start with it.
set -euo pipefail
export LC_ALL=C

# shellcheck source=scripts/toolchain.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/toolchain.sh"

# What each stage leaves: the hash of what it was made from.
readonly PYTHON_STAMP="$VENV/netwarp-python.stamp"
readonly ENDPOINT_STAMP="$VENV/netwarp-endpoint.stamp"
readonly ENDPOINT="$VENV/libexec/netwarp-endpoint"

main() {
    local stage=${1:-all} extent
    CHILD=
    KERNEL=
    ENDPOINT_BUILD=
    trap end_children EXIT
    trap 'stop 130' INT
    trap 'stop 143' TERM HUP
    case $stage in
    packages | python | rust | kernel)
        take_lock
        "set_up_$stage" dev
        ;;
    demo | all)
        [[ $stage == all ]] && extent=dev || extent=run
        warn_of_hidden_place setup
        take_lock
        set_up_packages "$extent"
        begin_kernel
        begin_endpoint
        set_up_python "$extent"
        set_up_rust
        set_up_kernel
        ;;
    help | --help | -h) usage ;;
    *)
        usage >&2
        die "unknown stage '$stage'"
        ;;
    esac
}

usage() {
    cat <<EOF
Usage: scripts/setup.sh [demo|packages|python|rust|kernel|all]

  demo       all that running studies needs, and nothing that only tests do
  packages   system packages, with apt (as root, or through sudo)
  python     the virtual environment in .venv, with netwarp in it
  rust       the endpoint program, into .venv/libexec
  kernel     the guest kernel, into $CACHE/kernel (guest/build.sh)
  all        the last four in this order, with what tests need (the default)

Environment:
  NETWARP_KERNEL_WHEEL   a release's netwarp_kernel-*.whl, whose kernel is taken in place of building it, if it is the same
EOF
}

say() { printf 'setup: %s\n' "$*" >&2; }

die() {
    printf 'setup: error: %s\n' "$*" >&2
    exit 1
}

# Background jobs of a script ignore Ctrl-C, so they have to be told; and the kernel's build must not go on when
# something else has failed.
end_children() {
    local child
    for child in $CHILD $KERNEL $ENDPOINT_BUILD; do kill "$child" 2>/dev/null || true; done
}

stop() { exit "$1"; }

# All checkouts of a user share the Rust target directory, and two calls in one checkout share .venv.
take_lock() {
    mkdir -p -- "$CACHE" || die "cannot create $CACHE; set XDG_CACHE_HOME to a directory you can write to"
    exec {LOCK}>"$CACHE/setup.lock"
    flock --nonblock "$LOCK" || {
        say "another set-up is under way; waiting for it"
        flock "$LOCK"
    }
}

# Runs a command in the background, its output in a file, with a sign of life: a live line on a terminal, a line every
# 15 s in a log. When it fails, the end of its output is shown.
run_shown() {
    local what=$1 log status=0
    shift
    log=$(log_of "$what")
    # The lock is closed for it: a server it may leave running (a compiler cache, say) must not keep the lock.
    "$@" >"$log" 2>&1 </dev/null {LOCK}>&- &
    CHILD=$!
    follow "$what" "$CHILD" || status=1
    CHILD=
    return "$status"
}

log_of() { echo "$CACHE/setup-${1//[^A-Za-z]/-}.log"; }

# follow WHAT PROCESS: waits for a background job whose output is in its log.
follow() {
    local what=$1 child=$2 log started=$SECONDS next=15 elapsed status=0
    log=$(log_of "$what")
    while [[ -d /proc/$child ]]; do
        sleep 0.2
        elapsed=$((SECONDS - started))
        if [[ -t 2 ]]; then
            printf '\r\033[K%.79s' "setup: $what, $elapsed s: $(tail -n 1 -- "$log" | tr -dc '[:print:]')" >&2
        elif ((elapsed >= next)); then
            say "$what, $elapsed s"
            next=$((elapsed + 15))
        fi
    done
    wait "$child" || status=$?
    [[ ! -t 2 ]] || printf '\r\033[K' >&2
    ((status == 0)) || {
        tail -n 25 -- "$log" >&2
        say "$what failed with status $status; its whole output is in $log"
        return 1
    }
}

# --- System packages ----------------------------------------------------------------------------------------

# What must be there, a program or a file, and the package that brings it. A machine that has the thing from elsewhere
# needs no package.
readonly NEEDS="
gcc gcc
make make
ld binutils
/usr/include/stdio.h libc6-dev
flex flex
bison bison
bc bc
patch patch
xz xz-utils
/usr/share/keyrings/debian-archive-keyring.gpg debian-archive-keyring
/etc/ssl/certs/ca-certificates.crt ca-certificates
flock util-linux
setpriv util-linux
setarch util-linux
taskset util-linux
"
# And what only tests need: a second reader of captures, a linter of scripts, what makes an empty root.
readonly TESTS_NEED="
tshark tshark
shellcheck shellcheck
/usr/sbin/debootstrap debootstrap
"

# $1: run, or dev for what tests need too.
set_up_packages() {
    local packages=() needs=$NEEDS thing package
    if [[ $1 == dev ]]; then
        needs+=$TESTS_NEED
        # Ubuntu's chromium is a snap, which needs more than a package manager; there the browser's tests are skipped.
        grep -q '^ID=ubuntu' /etc/os-release || needs+=$'chromium chromium\n'
    fi
    while read -r thing package; do
        [[ -n $thing ]] || continue
        [[ -e $thing ]] || command -v "$thing" >/dev/null || packages+=("$package")
    done <<<"$needs"
    if ! is_good_python "$VENV/bin/python" && ! can_make_venv; then packages+=("python"); fi
    if ! find_rust; then packages+=("rust"); fi
    if ((${#packages[@]} == 0)); then
        say "packages: nothing is missing"
        return
    fi
    install_packages "${packages[@]}"
}

# $@: package names; "python" and "rust" stand for whatever this distribution calls a version that is new enough.
install_packages() {
    local name names=() as_root=()
    command -v apt-get >/dev/null || die "missing: $*; there is no apt-get here, so install them by hand"
    if (($(id -u) != 0)); then
        as_root=(sudo)
        # Without a terminal nobody can type a password.
        [[ -t 0 ]] || as_root=(sudo -n)
        if ! command -v sudo >/dev/null || ! "${as_root[@]}" true; then
            die "these packages are missing and only root can install them; run: $(root_command "$@")"
        fi
    fi
    as_root+=(env DEBIAN_FRONTEND=noninteractive)

    # A broken third-party source must not stop what the others can give.
    run_shown "refreshing the package lists" "${as_root[@]}" apt-get update ||
        say "some package lists could not be refreshed; going on with what there is"
    mapfile -t names < <(for name in "$@"; do package_names "$name"; done | sort -u)
    ((${#names[@]} > 0)) || return 0
    say "packages: installing ${names[*]}"
    run_shown "installing packages" "${as_root[@]}" apt-get install -y --no-install-recommends "${names[@]}" ||
        die "apt could not install ${names[*]}; see the message above"
}

# What to tell somebody who is not root. The lists may be too old to name the packages: then the usual ones.
root_command() {
    local name
    printf 'apt-get update && apt-get install --no-install-recommends'
    for name in "$@"; do package_names "$name"; done | sort -u | tr '\n' ' ' | sed 's/^/ /; s/ $//'
}

package_names() {
    case $1 in
    python) python_packages ;;
    rust) rust_packages ;;
    *) echo "$1" ;;
    esac
}

candidate() { apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: \([^(]*\)$/\1/p'; }

# True when apt offers package $1 in a version that is at least $2.
offers() {
    local version
    version=$(candidate "$1")
    [[ -n $version ]] && at_least "${version#*:}" "$2"
}

can_make_venv() {
    local python
    # Debian splits ensurepip, which fills a virtual environment, from its Python.
    python=$(find_python) && "$python" -c 'import ensurepip' 2>/dev/null
}

python_packages() {
    local minor
    if offers python3 "$OLDEST_PYTHON"; then
        printf '%s\n' python3 python3-venv
        return
    fi
    for minor in 14 13 12 11; do
        if offers "python3.$minor" "$OLDEST_PYTHON"; then
            printf '%s\n' "python3.$minor" "python3.$minor-venv"
            return
        fi
    done
    printf '%s\n' "python$OLDEST_PYTHON" "python$OLDEST_PYTHON-venv"
}

# In this order: the distribution's default; Debian's newer one for web browsers; Ubuntu's versioned ones.
rust_packages() {
    local suffix
    if offers rustc "$OLDEST_RUST" && offers cargo "$OLDEST_RUST"; then
        printf '%s\n' rustc cargo rustfmt rust-clippy
        return
    fi
    if offers rustc-web "$OLDEST_RUST"; then
        printf '%s\n' rustc-web cargo-web rustfmt-web
        return
    fi
    suffix=$(apt-cache search --names-only '^cargo-1\.[0-9]*$' | sed 's/^cargo\(-[0-9.]*\) .*/\1/' |
        sort -V | tail -n 1)
    if [[ -n $suffix ]] && at_least "${suffix#-}" "$OLDEST_RUST"; then
        printf '%s\n' "cargo$suffix" "rustc$suffix"
        return
    fi
    # Not to be had: the Rust stage says what to do.
}

# --- Python -------------------------------------------------------------------------------------------------

is_current() { [[ -f $1 && $(<"$1") == "$2" ]]; }

# The stamp of an installation with what tests need serves those who only run studies, too.
is_installed() {
    is_current "$PYTHON_STAMP" "dev $2" || { [[ $1 == run ]] && is_current "$PYTHON_STAMP" "run $2"; }
}

# $1: run, or dev for what tests need too.
set_up_python() {
    local extent=$1 python hash
    hash=$(cat -- "$REPO/pyproject.toml" "$REPO/locks/run.txt" "$REPO/locks/dev.txt" | sha256sum)
    if is_good_python "$VENV/bin/python" && is_installed "$extent" "$hash"; then
        say "python: .venv is up to date"
        return
    fi
    python=$(find_python) || die "no Python $OLDEST_PYTHON or later; install one with: scripts/setup.sh packages"
    if ! is_good_python "$VENV/bin/python"; then
        run_shown "making a virtual environment in .venv" "$python" -m venv --clear "$VENV" ||
            die "$python cannot make a virtual environment in $VENV"
    fi
    install_locked "$extent" ||
        die "pip could not install into $VENV what locks/$extent.txt lists; check the network, and that this Python
  ($("$VENV/bin/python" --version)) is one that the lock has packages for (3.11 to 3.14); then run: scripts/setup.sh python"
    run_shown "installing netwarp" "$VENV/bin/python" -m pip install "${PIP[@]}" --no-deps --no-build-isolation \
        --editable "$REPO" || die "pip could not install netwarp into $VENV"
    # pip compiles what it installs, but not what it links to.
    "$VENV/bin/python" -m compileall -q "$REPO/src" || die "cannot compile the modules of $REPO/src"
    echo "$extent $hash" >"$PYTHON_STAMP"
    say "python: .venv is ready ($("$VENV/bin/python" --version))"
}

readonly PIP=(--disable-pip-version-check --no-input)

# What is locked and nothing else: a package whose hash differs is refused, and nothing is built that has a setup of its
# own to run.
install_locked() {
    run_shown "installing Python packages" "$VENV/bin/python" -m pip install "${PIP[@]}" --require-hashes \
        --only-binary :all: --requirement "$REPO/locks/$1.txt"
}

# --- Rust ---------------------------------------------------------------------------------------------------

# Prints the hash that netwarp holds the stamp against before it runs anything.
hash_endpoint() {
    local python
    python=$(find_python) || die "no Python $OLDEST_PYTHON or later; install one with: scripts/setup.sh packages"
    "$python" -I -S "$REPO/src/netwarp/backends/endpoint_sources.py" "$REPO/endpoint"
}

# Its compiler's last half is one thread, and pip's work is one: side by side they take less time. Nothing is begun
# where there is nothing to build.
begin_endpoint() {
    local hash
    hash=$(hash_endpoint)
    if is_set_up "$hash" || [[ -x $(built_endpoint "$hash") ]]; then return; fi
    find_rust ||
        die "no Rust $OLDEST_RUST or later in PATH, in ~/.cargo/bin or as /usr/bin/cargo-1.N; get the distribution's
  with 'scripts/setup.sh packages' (if it has one), or rustup's stable toolchain; then run: scripts/setup.sh rust"
    say "rust: building the endpoint with $("$RUSTC" --version)"
    build_endpoint >"$(log_of "$ENDPOINT_BUILD_NAME")" 2>&1 </dev/null {LOCK}>&- &
    ENDPOINT_BUILD=$!
}

set_up_rust() {
    local hash
    hash=$(hash_endpoint)
    if is_set_up "$hash"; then
        say "rust: the endpoint is up to date"
        return
    fi
    if [[ -z $ENDPOINT_BUILD ]]; then begin_endpoint; fi
    if [[ -n $ENDPOINT_BUILD ]]; then end_endpoint "$(built_endpoint "$hash")"; fi
    install_file "$(built_endpoint "$hash")" "$ENDPOINT"
    echo "$hash" >"$ENDPOINT_STAMP"
    say "rust: the endpoint is ready"
}

readonly ENDPOINT_BUILD_NAME="building the endpoint"

is_set_up() { [[ -x $ENDPOINT ]] && is_current "$ENDPOINT_STAMP" "$1"; }

# A build from the same sources in any checkout serves: linking alone takes half a minute.
built_endpoint() { echo "$CACHE/endpoint/${1%% *}"; }

# Is run in the background, and ends as cargo.
build_endpoint() {
    local manifest own=(--package netwarp-endpoint)
    trap - EXIT INT TERM HUP
    for manifest in "$REPO"/endpoint/*/Cargo.toml; do
        own+=(--package "netwarp-$(basename -- "${manifest%/*}")")
    done
    # From its own directory: cargo looks for .cargo/config.toml, which makes the binary static, from where it is run.
    # And its own crates afresh: cargo tells by time stamps whether a file changed, a checkout may bring old ones, and
    # here the content counts. Its dependencies stay.
    env -C "$REPO/endpoint" "$CARGO" clean --quiet --locked --release "${own[@]}" || exit 1
    exec env -C "$REPO/endpoint" "$CARGO" build --release --locked
}

# end_endpoint BUILT: waits for the build, and keeps what it built.
end_endpoint() {
    local built=$1 old status=0
    follow "$ENDPOINT_BUILD_NAME" "$ENDPOINT_BUILD" || status=1
    ENDPOINT_BUILD=
    ((status == 0)) || die "the endpoint does not build; if crates could not be fetched, check the network;
  then run: scripts/setup.sh rust"
    install_file "$CARGO_TARGET_DIR/x86_64-unknown-linux-gnu/release/netwarp-endpoint" "$built"
    # Somebody at work on the endpoint makes many of these, of 20 MB each.
    find "${built%/*}" -type f -printf '%T@ %p\n' | sort -rn | tail -n +6 | cut -d ' ' -f 2- |
        while read -r old; do rm -f -- "$old"; done
}

# By a rename, because a guest may be running the file that is there.
install_file() {
    mkdir -p -- "${2%/*}"
    cp -- "$1" "$2.new"
    mv -f -- "$2.new" "$2"
}

# --- Guest kernel -------------------------------------------------------------------------------------------

readonly KERNEL_BUILD="building the guest kernel"
# A release's wheel that the user names has the kernel, if it is the one that would be built.
readonly KERNEL_OPTIONS=(${NETWARP_KERNEL_WHEEL:+--wheel "$NETWARP_KERNEL_WHEEL"})

# Its compiler leaves a CPU idle while it links, and so does the endpoint's, whose last half is one thread: side by side
# they take less time. Nothing is begun where there is nothing to build.
begin_kernel() {
    ! "$REPO/guest/build.sh" --print >/dev/null 2>&1 || return 0
    say "kernel: building it beside the rest; the output is in $(log_of "$KERNEL_BUILD")"
    "$REPO/guest/build.sh" "${KERNEL_OPTIONS[@]}" >"$(log_of "$KERNEL_BUILD")" 2>&1 </dev/null {LOCK}>&- &
    KERNEL=$!
}

set_up_kernel() {
    local status=0
    if [[ -z $KERNEL ]]; then
        "$REPO/guest/build.sh" "${KERNEL_OPTIONS[@]}"
        return
    fi
    follow "$KERNEL_BUILD" "$KERNEL" || status=1
    KERNEL=
    ((status == 0)) || exit 1
    tail -n 1 -- "$(log_of "$KERNEL_BUILD")" >&2
}

main "$@"
