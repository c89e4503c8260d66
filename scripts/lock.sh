#!/usr/bin/env bash
# Locks the Python packages that setup.sh installs: versions and hashes of all that pyproject.toml asks for, for Python
# 3.11 and later on x86-64, into locks/. Run by `make lock`, to take newer ones; what is locked is looked at by
# `make audit`.
set -euo pipefail
export LC_ALL=C

# shellcheck source=scripts/toolchain.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/toolchain.sh"

# What resolves; its own version decides how a lock is written, nothing of what is in it.
readonly UV=0.13.9

main() {
    WORK=$(mktemp -d)
    trap 'rm -rf -- "$WORK"' EXIT
    "$(find_python)" -m venv "$WORK/venv"
    "$WORK/venv/bin/python" -m pip install --quiet --disable-pip-version-check "uv==$UV"
    # What builds netwarp itself is fetched like the rest, and not by pip in its own way.
    sed -n '/^\[build-system\]/,/^\[project\]/s/^requires = \["\(.*\)"\]$/\1/p' "$REPO/pyproject.toml" >"$WORK/build.in"
    echo editables >>"$WORK/build.in"  # hatchling's, for an editable installation
    # The largest first: the others take their versions from it.
    lock dev --extra dev
    lock run --extra remote --extra ui --constraint "$REPO/locks/dev.txt"
    lock site --extra site --constraint "$REPO/locks/dev.txt"
}

# lock NAME [OPTIONS]; only packages that have a wheel, as setup.sh builds none
lock() {
    local name=$1
    shift
    (
        cd -- "$REPO"
        echo "# Made by \`make lock\` from pyproject.toml; installed by scripts/setup.sh with --require-hashes."
        "$WORK/venv/bin/uv" pip compile --quiet --upgrade --universal --python-version "$OLDEST_PYTHON" \
            --only-binary :all: --generate-hashes --no-emit-index-url --no-header --no-annotate "$@" \
            pyproject.toml "$WORK/build.in"
    ) >"$WORK/$name.txt"
    mv -- "$WORK/$name.txt" "$REPO/locks/$name.txt"
    echo "locks/$name.txt: $(grep -c == "$REPO/locks/$name.txt") packages"
}

main
