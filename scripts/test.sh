#!/usr/bin/env bash
# Runs every test lane, also after one has failed, and ends with one line: N passed, N failed, N skipped.
# `test.sh audit` looks for advisories about what is locked as well, which needs the network.
#
# A lane that fails without a failed test (a linter, a crash, a lane that ran no test) counts as one failure, so that
# the last line and the exit status always agree.
set -uo pipefail

# shellcheck source=scripts/toolchain.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/toolchain.sh"
cd -- "$REPO" || exit 1
# As `built_stacks` in that file has it.
STACKS="$CACHE/stacks-$(sed -n 's/^ROLE_PROTOCOL = //p' src/netwarp/stacks.py)"
readonly STACKS

readonly AUDIT=${1:-}
# The status of scripts/audit.py when there is an advisory.
readonly FOUND=4

# A process for each CPU, whose guests stay on it; the tests of a file share what it sets up. Files are begun in the order
# that tests/conftest.py puts them into.
readonly SIDE_BY_SIDE=(-n auto --dist loadfile --no-loadscope-reorder)

WORK=$(mktemp -d)
readonly WORK
# A line for each lane that has ended, PASSED FAILED SKIPPED NAME: lanes run in several processes.
readonly COUNTS="$WORK/counts"
BESIDE=

main() {
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    warn_of_hidden_place test
    find_rust || {
        printf 'test: no Rust %s or later; run: scripts/setup.sh packages\n' "$OLDEST_RUST" >&2
        CARGO=cargo
    }
    # Linters, rustc's last step and a browser leave a CPU idle; so they run beside the lanes that have a process for
    # each CPU. Job control gives them a process group, which Ctrl-C ends whole.
    printf 'beside the tests: linters, Rust, Go and the browser lane; their output comes when all have ended\n'
    set -m
    lanes_beside >"$WORK/beside.log" 2>&1 </dev/null &
    BESIDE=$!
    set +m
    pytest_lane guest "${SIDE_BY_SIDE[@]}"
    pytest_lane cli "${SIDE_BY_SIDE[@]}"
    pytest_lane fast "${SIDE_BY_SIDE[@]}"
    pytest_lane fuzz "${SIDE_BY_SIDE[@]}"
    wait "$BESIDE"
    BESIDE=
    cat -- "$WORK/beside.log"
    # What measures real time runs alone, also one after the other: fork bombs are among it.
    pytest_lane native
    report
}

clean_up() {
    [[ -z $BESIDE ]] || kill -TERM -- "-$BESIDE" 2>/dev/null
    rm -rf -- "$WORK"
}

lanes_beside() {
    trap - EXIT INT TERM HUP
    [[ $AUDIT != audit ]] || audit_lane
    lint_lane "ruff check" .venv/bin/ruff check .
    lint_lane "ruff format" .venv/bin/ruff format --check .
    lint_lane "mypy" .venv/bin/mypy --strict
    lint_lane "import contracts" .venv/bin/lint-imports --no-cache --no-logo
    lint_lane "shellcheck" shellcheck -x guest/*.sh scripts/*.sh .ci/run
    cargo_lint_lane endpoint fmt --all --check
    cargo_lint_lane endpoint clippy --locked --all-targets -- -D warnings
    stack_cargo_lint_lanes
    cargo_test_lane "cargo test" endpoint
    stack_cargo_test_lanes
    go_test_lane
    installed_lane
    pytest_lane browser
}

announce() { printf '\n== %s\n' "$1"; }

lint_lane() {
    local name=$1 status=0
    shift
    announce "$name"
    "$@" || status=$?
    ((status == 0)) || end_lane "$name" 0 1 0
}

# An advisory fails the tests; an index that cannot be asked does not.
audit_lane() {
    local status=0
    announce "advisories"
    timeout 300 .venv/bin/python scripts/audit.py || status=$?
    if ((status == FOUND)); then
        end_lane "advisories" 0 1 0
    elif ((status != 0)); then
        printf 'advisories: not everything could be asked about (status %d)\n' "$status"
    fi
}

# Some distributions ship a Rust that is new enough without its linters; then a lint is skipped, and said to be.
#
# cargo_lint_lane DIRECTORY LINTER [OPTIONS]
cargo_lint_lane() {
    local directory=$1 linter=$2 name="cargo $2, $1"
    if ! "$CARGO" "$linter" --version >/dev/null 2>&1; then
        announce "$name"
        printf '== %s: skipped, %s has no %s\n' "$name" "$CARGO" "$linter"
        end_lane "$name" 0 0 1
        return
    fi
    # From the crate's own directory, where its .cargo/config.toml applies.
    lint_lane "$name" env -C "$directory" "$CARGO" "${@:2}"
}

# The formatting of all stacks, and the warnings of what roles have in common and of the stacks that are built here.
stack_cargo_lint_lanes() {
    local manifest name
    for manifest in stacks/*/Cargo.toml; do
        name=$(basename "$(dirname "$manifest")")
        cargo_lint_lane "stacks/$name" fmt --check
        if [[ $name == role || -f $STACKS/$name/stack.toml ]]; then
            cargo_lint_lane "stacks/$name" clippy --release --locked --all-targets --target-dir "$STACKS/$name/target" -- -D warnings
        fi
    done
}

# end_lane LANE PASSED FAILED SKIPPED: notes how a lane has ended.
end_lane() {
    printf '%d %d %d %s\n' "$2" "$3" "$4" "$1" >>"$COUNTS"
    (($3 == 0)) || printf '== %s: FAILED\n' "$1"
}

# count STATUS LANE PASSED FAILED SKIPPED
count() {
    local status=$1 lane=$2 passed=$3 failed=$4 skipped=$5
    if ((passed + failed + skipped == 0)); then printf '== %s: ran no test\n' "$lane"; fi
    if ((failed == 0)) && { ((status != 0)) || ((passed + skipped == 0)); }; then failed=1; fi
    end_lane "$lane" "$passed" "$failed" "$skipped"
}

# cargo_test_lane LANE DIRECTORY [OPTIONS]
cargo_test_lane() {
    local lane=$1 log="$WORK/cargo-test.log" status=0 passed failed ignored
    announce "$lane"
    # The endpoint's integration tests run the program from the target directory, which other checkouts build into as
    # well; the lock is the one of setup.sh.
    flock "$CACHE/setup.lock" env -C "$2" "$CARGO" test --locked --no-fail-fast "${@:3}" 2>&1 | tee "$log" || status=$?
    # One line for each test binary.
    read -r passed failed ignored < <(awk '
        /^test result: / {
            for (i = 2; i <= NF; i++) {
                if ($i ~ /^passed/) passed += $(i - 1)
                if ($i ~ /^failed/) failed += $(i - 1)
                if ($i ~ /^ignored/) ignored += $(i - 1)
            }
        }
        END { print passed + 0, failed + 0, ignored + 0 }' "$log")
    count "$status" "$lane" "$passed" "$failed" "$ignored"
}

# What roles written in Rust have in common, and those of the stacks that are built here: their libraries take minutes.
stack_cargo_test_lanes() {
    local manifest name built
    for manifest in stacks/*/Cargo.toml; do
        name=$(basename "$(dirname "$manifest")")
        built="$STACKS/$name"
        if [[ $name != role && ! -f $built/stack.toml ]]; then
            printf '\n== cargo test, %s: skipped, it is not built: netwarp stack build %s\n' "$name" "$name"
            end_lane "cargo test, $name" 0 0 1
            continue
        fi
        cargo_test_lane "cargo test, $name" "stacks/$name" --release --target-dir "$built/target"
    done
}

# The role of quic-go: what builds it is not needed for anything else.
go_test_lane() {
    local log="$WORK/go-test.log" status=0 passed failed skipped
    announce "go test"
    if ! command -v go >/dev/null; then
        printf '== go test: skipped, there is no Go\n'
        end_lane "go test" 0 0 1
        return
    fi
    env -C stacks/quic-go go test -v ./... 2>&1 | tee "$log" || status=$?
    passed=$(grep -c '^--- PASS' "$log") || passed=0
    failed=$(grep -c '^--- FAIL' "$log") || failed=0
    skipped=$(grep -c '^--- SKIP' "$log") || skipped=0
    count "$status" "go test" "$passed" "$failed" "$skipped"
}

# pytest_lane NAME [OPTIONS]: the tests of the directory of that name, or of all that no other lane runs. Only they are
# collected: to import all modules of tests takes 17 s.
pytest_lane() {
    local lane="pytest, $1 lane" xml="$WORK/$1.xml" tests=("tests/$1") each status=0 passed failed skipped
    if [[ $1 == fast ]]; then
        tests=(tests)
        for each in browser cli fuzz guest native; do tests+=("--ignore=tests/$each"); done
    fi
    announce "$lane"
    .venv/bin/python -m pytest -q --durations=5 --junit-xml="$xml" "${tests[@]}" "${@:2}" || status=$?
    read -r passed failed skipped < <(junit_counts "$xml")
    count "$status" "$lane" "$passed" "$failed" "$skipped"
}

# The wheels, in a root that has neither this clone nor a compiler.
installed_lane() {
    local lane="wheels in an empty root" xml="$WORK/installed.xml" status=0 passed failed skipped
    announce "$lane"
    if (($(id -u) != 0)) || ! command -v debootstrap >/dev/null; then
        printf '== %s: skipped, it needs root and debootstrap\n' "$lane"
        end_lane "$lane" 0 0 1
        return
    fi
    .venv/bin/python scripts/installed.py --junit-xml="$xml" || status=$?
    read -r passed failed skipped < <(junit_counts "$xml")
    count "$status" "$lane" "$passed" "$failed" "$skipped"
}

# A file that is missing, because pytest did not get that far, counts nothing.
junit_counts() {
    .venv/bin/python - "$1" <<'EOF'
import sys
from pathlib import Path
from xml.etree import ElementTree

path = Path(sys.argv[1])
suites = list(ElementTree.parse(path).iter("testsuite")) if path.exists() else []
total, failures, errors, skipped = (
    sum(int(suite.get(name, 0)) for suite in suites)
    for name in ("tests", "failures", "errors", "skipped")
)
print(total - failures - errors - skipped, failures + errors, skipped)
EOF
}

report() {
    local passed=0 failed=0 skipped=0 counts lane
    echo
    while read -r -a counts; do
        ((passed += counts[0], failed += counts[1], skipped += counts[2]))
        lane="${counts[*]:3}"
        ((counts[1] == 0)) || printf 'failed: %s\n' "$lane"
    done <"$COUNTS"
    if ((skipped > 0)); then
        printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    else
        printf '%d passed, %d failed\n' "$passed" "$failed"
    fi
    ((failed == 0))
}

main
