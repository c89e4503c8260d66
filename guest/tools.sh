# shellcheck shell=bash
# The programs that a build needs, found out before anything is fetched: sourced by build.sh and selftests.sh, whose die
# it uses.

# $@: names of programs.
require_tools() {
    local tool missing=()
    for tool in "$@"; do
        command -v "$tool" >/dev/null || missing+=("$tool")
    done
    ((${#missing[@]} == 0)) || die "these tools are missing: ${missing[*]}; $(remedy)"
}

# A clone has a script that installs packages, an installed wheel has none.
remedy() {
    if [[ -x $GUEST_DIR/../scripts/setup.sh ]]; then
        echo "install them with: scripts/setup.sh packages"
    else
        echo "on Debian and Ubuntu: sudo apt-get install gcc libc6-dev make binutils flex bison bc patch tar xz-utils util-linux git"
    fi
}
