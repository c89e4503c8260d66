# shellcheck shell=bash
# shellcheck disable=SC2034  # what is set here is read by the files that source it
# The options of build.sh, and what of them is wrong: sourced by it, whose die and variables it uses.

# What to build: a version of Debian's, a tarball or tree, or a commit; none of them for the default.
SERIES=
SOURCE=
GIT=
REF=
# A wheel of netwarp-kernel that has the default kernel built.
WHEEL=
# Where the tree and its objects of a commit are kept between calls; empty for nowhere.
KEPT_TREE=
# Lines of configuration and patches of the user's own.
CONFIG=()
OWN_PATCHES=()
# Directories with congestion controls of the user's own, and the files in them.
MODULES=()
MODULE_FILES=()
JOBS=$(nproc)
CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/netwarp/kernel"
PRINT=false
REFRESH=false
ONLY_PINNED=false

usage() {
    cat <<EOF
Usage: guest/build.sh [options] [VERSION]

Builds a guest kernel of netwarp's, once; a second call finds it built and is done. Kernels stand side by side.
Without VERSION it is the default: the source that guest/sources.sha256 names last, else the newest of Debian's
$BACKPORTS, else this machine's own newest linux-source package, $OLDEST_DEFAULT or later. Each fallback is said, with
its reason. With VERSION (6.12, say) it is Debian's linux-source package of that name, $OLDEST_KERNEL or later.

Options:
  --source PATH   build from this kernel source instead: a tarball, or a directory
  --git DIR       build from a commit in this git repository instead
  --ref REF       which commit: a tag, branch or hash (with --git)
  --tree DIR      keep the tree and its objects in DIR (with --git), so that the next commit compiles only what changed
  --config LINE   a line of configuration more, such as CONFIG_TCP_CONG_BBR=n; repeatable
  --patch FILE    a patch to apply to the source (patch -p1); repeatable
  --module DIR    build the TCP congestion controls in DIR in: a file tcp_NAME.c for each, and headers; repeatable
  --wheel FILE    take the default kernel out of a release's netwarp_kernel-*.whl instead of building it, if it was built
                  from the same source, configuration and scripts
  --jobs N        compile N files at a time (default: $JOBS, the number of CPUs)
  --cache DIR     where kernels are kept (default: $CACHE)
  --pinned        build only from a source whose SHA-256 is in guest/sources.sha256
  --refresh       look for a newer source, even if a kernel is built: where it is of another than the pinned one, for
                  that first
  --print         print the directory of the built kernel, and build nothing; exit 1 if there is none
  --help          print this text

Exit status: 0 when the kernel is there, 2 for wrong options, 4 when this source cannot be built (it does not compile, say),
1 for anything else.

Environment:
  NETWARP_DEBIAN_MIRROR   URI of a Debian archive (default: the one in this machine's apt sources)
EOF
}

parse_arguments() {
    while (($#)); do
        case $1 in
        --source | --git | --ref | --tree | --config | --patch | --module | --wheel | --jobs | --cache)
            (($# >= 2)) || usage_error "$1 needs a value"
            [[ -n $2 ]] || usage_error "$1 needs a value, not an empty one"
            case $1 in
            --source) SOURCE=$2 ;;
            --git) GIT=$2 ;;
            --ref) REF=$2 ;;
            --tree) KEPT_TREE=$2 ;;
            --config) CONFIG+=("$2") ;;
            --patch) OWN_PATCHES+=("$2") ;;
            --module) MODULES+=("$2") ;;
            --wheel) WHEEL=$2 ;;
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
        -*) usage_error "unknown option '$1'" ;;
        *)
            [[ -z $SERIES ]] || usage_error "'$1' beside $SERIES: one kernel is built at a time"
            SERIES=$1 && shift
            ;;
        esac
    done
    CACHE=$(realpath -m -- "$CACHE")
    [[ -z $KEPT_TREE ]] || KEPT_TREE=$(realpath -m -- "$KEPT_TREE")
    refuse_bad_arguments
    find_module_files
    readonly SERIES SOURCE GIT REF KEPT_TREE WHEEL CONFIG MODULES JOBS CACHE PRINT REFRESH ONLY_PINNED
}

refuse_bad_arguments() {
    local line patch
    [[ $JOBS =~ ^[1-9][0-9]*$ ]] || usage_error "--jobs $JOBS: not a positive whole number"
    if [[ -n $SERIES ]]; then
        [[ $SERIES =~ ^[0-9]+\.[0-9]+$ ]] ||
            usage_error "'$SERIES' names no series of kernels, such as 6.12; for a version of another kind: --source, --git"
        is_at_least "$OLDEST_KERNEL" "$SERIES" || usage_error "Linux $SERIES: netwarp needs $OLDEST_KERNEL or later"
        [[ -z $SOURCE$GIT ]] || usage_error "$SERIES beside --source or --git: the source says which version it is"
    fi
    [[ -z $SOURCE || -z $GIT ]] || usage_error "--source beside --git: one source is built"
    [[ -z $SOURCE || -f $SOURCE || -d $SOURCE ]] || usage_error "--source $SOURCE: no such file or directory"
    [[ -z $GIT || -d $GIT ]] || usage_error "--git $GIT: no such directory"
    [[ -z $GIT || -n $REF ]] || usage_error "--git needs --ref: a tag, branch or hash"
    [[ -z $WHEEL ]] || is_default || usage_error "--wheel beside what makes another kernel: a wheel has the default"
    [[ -z $WHEEL || -f $WHEEL ]] || usage_error "--wheel $WHEEL: no such file"
    [[ -n $GIT || -z $REF ]] || usage_error "--ref $REF: in which repository? Give --git DIR"
    [[ -z $KEPT_TREE || -n $GIT ]] || usage_error "--tree $KEPT_TREE: objects are kept of a commit alone (--git)"
    ! $ONLY_PINNED || [[ -z $GIT && ! -d $SOURCE ]] ||
        usage_error "--pinned beside --git or a directory: guest/sources.sha256 has hashes of tarballs alone"
    # All of these are written into kernel.json.
    [[ ! "$SOURCE$REF${CONFIG[*]}${OWN_PATCHES[*]}${MODULES[*]}" =~ [[:cntrl:]] ]] ||
        usage_error "a value of --source, --ref, --config, --patch or --module has a control character, such as a newline"
    for line in "${CONFIG[@]}"; do
        [[ $line =~ ^CONFIG_[A-Za-z0-9_]+=.+$ ]] ||
            usage_error "--config $line: not CONFIG_NAME=VALUE, such as CONFIG_TCP_CONG_BBR=n"
    done
    for patch in "${OWN_PATCHES[@]}"; do
        [[ -f $patch && -r $patch ]] || usage_error "--patch $patch: no such file"
    done
    # The kernel's own makefile refuses such a path, only much later and less clearly.
    [[ ! $CACHE$KEPT_TREE =~ [[:space:]:] ]] ||
        usage_error "$CACHE $KEPT_TREE: a kernel cannot be built below a path with spaces or colons; choose another"
}

# Whether the caller named nothing that makes another kernel than the default.
is_default() { takes_pinned_source && is_unchanged; }

# Whether the source is the default's, with or without changes of the caller's.
takes_pinned_source() { [[ -z $SERIES$SOURCE$GIT ]]; }

# Whether the caller changes neither configuration nor source.
is_unchanged() { ((${#CONFIG[@]} + ${#OWN_PATCHES[@]} + ${#MODULES[@]} == 0)); }

# $2 is $1 or later.
is_at_least() { [[ $(printf '%s\n' "$1" "$2" | sort -V | sed -n 1p) == "$1" ]]; }

usage_error() {
    printf 'guest kernel: error: %s (guest/build.sh --help lists the options)\n' "$*" >&2
    exit 2
}
