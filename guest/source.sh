# shellcheck shell=bash
# shellcheck disable=SC2034  # build.sh reads what is set here
# shellcheck disable=SC2119,SC2120  # arguments are given where a name is a function's (obtain_from_debian)
# Where the kernel's source comes from: sourced by build.sh, whose say, die and variables it uses.

readonly BACKPORTS=trixie-backports
# Where a version that is asked for may be: what is older than backports is in a release.
readonly RELEASES=(trixie bookworm)
readonly KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# Sets PACKAGE, PACKAGE_VERSION and TARBALL; of a package KEY too, and no TARBALL if the entry KEY is there already.
obtain_source() {
    if [[ -n $SOURCE || -n $GIT ]]; then
        take_given_source
        return
    fi
    local reason_debian reason_machine has_apt=true
    if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
        has_apt=false
        REASON="there is no apt here to fetch a kernel source with"
    fi
    if $has_apt && obtain_from_debian; then return; fi
    reason_debian=$REASON
    if stand_in "$reason_debian"; then return; fi
    $has_apt || die "$reason_debian; give one (a tarball or directory) with --source PATH"
    say "no kernel source from $reason_debian"
    say "falling back to this machine's own package archive"
    if obtain_package; then return; fi
    reason_machine=$REASON
    die "no kernel source to be had
  from $reason_debian
  from this machine's package archive: $reason_machine
  Check the network and run 'sudo apt-get update', name an archive with NETWARP_DEBIAN_MIRROR=URI, or give a
  source (a tarball or directory) with --source PATH"
}

# Asks one suite after the other, so that one that cannot be reached, or lacks it, does not keep the rest from being asked.
# $1: what takes a package of a suite, obtain_package unless it is given.
obtain_from_debian() {
    local suite suites=("$BACKPORTS") asked="" reasons="" before="" obtain=${1:-obtain_package}
    [[ -z $SERIES ]] || suites+=("${RELEASES[@]}")
    for suite in "${suites[@]}"; do
        if write_isolated_apt "$WORK/apt-$suite" "$suite" && "$obtain" APT_CONFIG="$WORK/apt-$suite/apt.conf"; then
            return
        fi
        # What is the same of each, as without a network, is said once.
        REASON=${REASON//"/dists/$suite/"/"/dists/…/"}
        if [[ $REASON != "$before" ]]; then
            reasons+="${asked:+$asked: $before; }"
            asked=$suite before=$REASON
        else
            asked+=", $suite"
        fi
    done
    REASON="$reasons$asked: $before"
    return 1
}

# Sets KEY to the kernel that was built before, if there is one to be used until the archive can be reached. $1: why it
# cannot.
stand_in() {
    local earlier
    earlier=$(earlier_entry || remembered_entry) || return 1
    ! $REFRESH || die "cannot look for a newer source: $1; the kernel built before stays in use"
    say "cannot look for $(pinned_source), which netwarp is released with: $1"
    say "the kernel that was built before, of another source, stays in use until 'netwarp kernel build' finds it"
    KEY=${earlier##*/}
    STANDS_IN=true
}

# --- A source that the caller gives -------------------------------------------------------------------------

# Sets SOURCE_ID: what of the given source decides what is built, the same wherever it lies.
identify_source() {
    if [[ -n $GIT ]]; then
        COMMIT=$(git -C "$GIT" rev-parse --verify --quiet --end-of-options "$REF^{commit}") ||
            die "--git $GIT --ref $REF: there is no such commit, or no repository of git"
        SOURCE_ID="commit $COMMIT"
    elif [[ -d $SOURCE ]]; then
        [[ -f $SOURCE/arch/um/Kconfig ]] || die "$SOURCE $(without_um)"
        SOURCE_ID=$(pack_directory | sha256sum)
    else
        SOURCE_ID=$(sha256sum <"$SOURCE")
    fi
    readonly SOURCE_ID
}

without_um() { echo "holds no Linux kernel with User-Mode Linux (arch/um): give a whole source of Linux"; }

# Unpacks TARBALL into TREE. $@: further options of tar, which complains about every single file on a full disk.
unpack_tarball() {
    local log="$WORK/tar.log"
    tar -xf "$TARBALL" -C "$TREE" --strip-components=1 "$@" 2>"$log" && return
    ! is_full "$WORK" || die_of_full_disk "$WORK"
    head -n 3 -- "$log" >&2
    die "$TARBALL cannot be unpacked: is it a complete kernel source tarball?"
}

# A directory as an archive that has nothing of when and by whom it was written.
pack_directory() {
    tar --format=gnu --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --exclude=./.git \
        --transform='flags=r;s,^\.,linux,' -C "$SOURCE" -cf - . && return
    [[ -z ${WORK:-} ]] || ! is_full "$WORK" || die_of_full_disk "$WORK"
    die "$SOURCE cannot be read"
}

take_given_source() {
    if [[ -n $GIT ]]; then
        PACKAGE="git $REF"
        PACKAGE_VERSION=$COMMIT
        TARBALL="$WORK/source.tar"
        # A tree that is kept is brought to the commit by git itself.
        [[ -n $KEPT_TREE ]] || git -C "$GIT" archive --format=tar --prefix=linux/ -o "$TARBALL" "$COMMIT" ||
            die_of_archive
        TARBALL_TIME=$(git -C "$GIT" show -s --format=%ct "$COMMIT")
    elif [[ -d $SOURCE ]]; then
        PACKAGE=$(basename -- "$(realpath -- "$SOURCE")")
        PACKAGE_VERSION=directory
        TARBALL="$WORK/source.tar"
        pack_directory >"$TARBALL"
        [[ $(sha256sum <"$TARBALL") == "$SOURCE_ID" ]] || die "$SOURCE changed while it was read; start again"
        # Its files are from whenever they were copied there; the date only has to be the same everywhere.
        TARBALL_TIME=1577836800
    else
        PACKAGE=$(basename -- "$SOURCE")
        PACKAGE_VERSION=tarball
        TARBALL=$(realpath -- "$SOURCE")
        TARBALL_TIME=$(stat -c %Y -- "$TARBALL")
    fi
    say "source: $PACKAGE ($PACKAGE_VERSION), as asked for"
}

die_of_archive() {
    ! is_full "$WORK" || die_of_full_disk "$WORK"
    die "git archive of $REF in $GIT failed"
}

# --- A package of Debian's ----------------------------------------------------------------------------------

# An apt of our own for the suite $2: its sources, lists and cache are below $1, so that the machine's stay untouched and no privilege
# is needed. Of the machine's settings it keeps how to reach archives (proxies, certificates), nothing else.
write_isolated_apt() {
    local dir=$1 suite=$2
    find_mirror || return 1
    if [[ ! -r $KEYRING ]]; then
        REASON="$KEYRING is missing (install debian-archive-keyring)"
        return 1
    fi
    mkdir -p -- "$dir/lists/partial" "$dir/cache/archives/partial"
    : >"$dir/status"
    echo "deb [signed-by=$KEYRING] $MIRROR $suite main" >"$dir/sources.list"
    {
        # Not which further indices to fetch, as apt-file and software centres ask for.
        apt-config dump | grep '^Acquire::' | grep -vE '^Acquire::(IndexTargets|Languages)'
        cat <<EOF
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Etc::sourcelist "$dir/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State "$dir";
Dir::State::lists "$dir/lists";
Dir::State::status "$dir/status";
Dir::Cache "$dir/cache";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
// A mirror that is just being updated gives a mismatch for a moment.
Acquire::Retries "3";
// The machine may allow these for its own sources; a kernel is never taken unsigned.
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
// For root: apt's own user cannot write below a home directory, and would warn about it.
APT::Sandbox::User "root";
EOF
    } >"$dir/apt.conf"

    say "looking for kernel sources in $suite at $MIRROR"
    if ! APT_CONFIG="$dir/apt.conf" apt-get -q update >"$WORK/apt.log" 2>&1; then
        REASON=$(apt_reason)
        return 1
    fi
}

# Prints which archive of Debian packages are fetched from, for scripts that need it too; or says why there is none.
debian_mirror() {
    if ! find_mirror; then
        printf '%s\n' "$REASON" >&2
        return 1
    fi
    printf '%s\n' "$MIRROR"
}

# Sets MIRROR to the archive that the caller names, or else to the one in this machine's apt sources.
find_mirror() {
    MIRROR=${NETWARP_DEBIAN_MIRROR:-$(mirror_of_this_machine)}
    MIRROR=${MIRROR%/}
    if [[ -z $MIRROR ]]; then
        REASON="this machine's package lists name no Debian archive (set NETWARP_DEBIAN_MIRROR=URI)"
        return 1
    fi
}

mirror_of_this_machine() {
    # shellcheck disable=SC2016  # $(REPO_URI) is apt's, not the shell's
    apt-get indextargets --format '$(REPO_URI)' \
        'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2>/dev/null | sed -n 1p
}

# $@, if given, is the environment setting that makes apt an isolated one.
obtain_package() {
    local apt_env=("$@")
    if [[ -n $SERIES ]]; then
        choose_series || return 1
    elif { $REFRESH && ! is_of_another_source; } || ! choose_pinned; then
        choose_newest || return 1
    fi
    KEY=$(key_of "${PACKAGE_VERSION%%-*}" "$PACKAGE $PACKAGE_VERSION")
    if is_complete "$CACHE/$KEY"; then
        say "the source is still $PACKAGE $PACKAGE_VERSION"
        return 0
    fi

    download_package
}

# Downloads PACKAGE in PACKAGE_VERSION, and sets TARBALL to the source in it. It is run below obtain_package or
# obtain_exactly, whose apt_env it uses.
download_package() {
    say "downloading $PACKAGE $PACKAGE_VERSION"
    if ! (cd -- "$WORK" && env "${apt_env[@]}" apt-get -q -o APT::Sandbox::User=root download \
        "$PACKAGE=$PACKAGE_VERSION") \
        >"$WORK/apt.log" 2>&1; then
        REASON="downloading $PACKAGE: $(apt_reason)"
        return 1
    fi
    if ! dpkg-deb -x "$WORK/$PACKAGE"_*.deb "$WORK/package"; then
        ! is_full "$WORK" || die_of_full_disk "$WORK"
        die "the package $PACKAGE $PACKAGE_VERSION cannot be unpacked: start again, so that it is downloaded anew"
    fi
    rm -f -- "$WORK/$PACKAGE"_*.deb
    TARBALL=$(find "$WORK/package/usr/src" -type f -name 'linux-source-*.tar.*' | sort -V | tail -n 1)
    [[ -n $TARBALL ]] || die "the package $PACKAGE $PACKAGE_VERSION holds no source tarball"
}

# The package of PACKAGE and PACKAGE_VERSION alone. $@ as for obtain_package.
obtain_exactly() {
    local apt_env=("$@")
    if ! versions_of "$PACKAGE" | grep -xF -- "$PACKAGE_VERSION" >/dev/null; then
        REASON="it has no $PACKAGE $PACKAGE_VERSION"
        return 1
    fi
    download_package
}

# Whether the kernel built before is of another source than the pinned one.
is_of_another_source() {
    local earlier
    earlier=$(earlier_entry) && ! is_of_pinned_source "$earlier"
}

# The three ways to choose set PACKAGE and PACKAGE_VERSION. They are run in obtain_package, whose apt_env they use.

choose_series() {
    PACKAGE=linux-source-$SERIES
    PACKAGE_VERSION=$(versions_of "$PACKAGE" | sed -n 1p)
    [[ -z $PACKAGE_VERSION ]] || return 0
    REASON="it has no package $PACKAGE, only: $(source_packages | paste -sd ' ' -)"
    return 1
}

# The default: the last source of guest/sources.sha256, for as long as the archive has it.
choose_pinned() {
    read -r PACKAGE PACKAGE_VERSION < <(pinned_source)
    versions_of "$PACKAGE" | grep -xF -- "$PACKAGE_VERSION" >/dev/null
}

pinned_source() { grep -v '^#' -- "$KNOWN_SOURCES" | tail -n 1 | cut -d ' ' -f 2-; }

choose_newest() {
    PACKAGE=$(source_packages | tail -n 1)
    if [[ -z $PACKAGE ]]; then
        REASON="it has no package linux-source-N"
        return 1
    fi
    if ! is_at_least "$OLDEST_DEFAULT" "${PACKAGE#linux-source-}"; then
        REASON="its newest kernel source is $PACKAGE, and netwarp needs $OLDEST_DEFAULT or later"
        return 1
    fi
    PACKAGE_VERSION=$(versions_of "$PACKAGE" | sed -n 1p)
    [[ -n $PACKAGE_VERSION ]] || die "apt-cache madison $PACKAGE names no version"
    if [[ "$PACKAGE $PACKAGE_VERSION" != "$(pinned_source)" ]]; then
        say "this archive's newest source is $PACKAGE $PACKAGE_VERSION, and the kernel that netwarp is released with is"
        say "$(pinned_source). Records repeat on either, but are not the same on both:"
        say "tests/guest/reference-hashes.json has hashes of that one alone, and the documentation its numbers."
        say "Nothing is to be done about it, unless you want the same records as others: an archive of Debian's has that one"
        say "(NETWARP_DEBIAN_MIRROR=URI)"
    fi
}

source_packages() {
    env "${apt_env[@]}" apt-cache search --names-only '^linux-source-[0-9][0-9.]*$' 2>"$WORK/apt.log" |
        cut -d ' ' -f 1 | sort -V
}

# Newest first.
versions_of() {
    env "${apt_env[@]}" apt-cache madison "$1" 2>"$WORK/apt.log" | awk -F ' *[|] *' '{ print $2 }' | uniq
}

# apt's own words, on one line, but for what it says after every failure.
apt_reason() {
    local errors
    errors=$(grep -E '^(E|W): ' "$WORK/apt.log" | grep -v '^E: Some index files failed to download' | head -n 3 |
        cut -c 4- | paste -sd ';' -)
    printf '%s' "${errors:-apt-get failed without a message}"
}

die_unpinned() {
    die "$PACKAGE $PACKAGE_VERSION is not in guest/sources.sha256 (its SHA-256 is $TARBALL_HASH), which has
  $(awk '!/^#/ { print $2, $3 }' "$KNOWN_SOURCES" | paste -sd ';' -): give the tarball of one of these
  with --source PATH, or build without --pinned"
}

# Whether guest/sources.sha256 has this hash.
is_known_source() { awk -v hash="$1" '!/^#/ && $1 == hash { has = 1 } END { exit !has }' "$KNOWN_SOURCES"; }

# Holds the source against guest/sources.sha256. A package that is not there is as new as the archive: its signature was
# checked, and what it holds is for --pinned to refuse.
check_pin() {
    local pinned
    pinned=$(awk -v package="$PACKAGE" -v version="$PACKAGE_VERSION" \
        '!/^#/ && $2 == package && $3 == version { print $1 }' "$KNOWN_SOURCES")
    if [[ -z $pinned ]]; then
        ! $ONLY_PINNED || die_unpinned
        say "the SHA-256 of $PACKAGE $PACKAGE_VERSION is not pinned: $TARBALL_HASH"
        return
    fi
    [[ $TARBALL_HASH == "$pinned" ]] ||
        die "the source of $PACKAGE $PACKAGE_VERSION is not the one that netwarp knows: its SHA-256 is
  $TARBALL_HASH, and guest/sources.sha256 has
  $pinned. The archive, or something on the way to it, has replaced it: build from another
  archive (NETWARP_DEBIAN_MIRROR=URI), or from a source that you trust (--source PATH)"
}
