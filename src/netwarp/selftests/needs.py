"""Determines what a test needs that the guest's kernel or this machine lacks.

A test does not say which options of the kernel it needs; the file `config` beside it lists those of
all tests of its folder. A test counts as needing an option if its text contains the option's word,
such as `vxlan` for `CONFIG_VXLAN`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

_FAMILIES = ("NET_", "IPV6_", "INET_", "IP_")
"""Prefixes of options' names that are not part of the word by which an option is recognised."""
_OF_TC = ("NET_SCH_", "NET_ACT_", "NET_CLS_")
"""Prefixes of the names of options whose word appears in commands of tc(8)."""
_WITHOUT_WORD = ("NF_", "NFT_", "NETFILTER_NETLINK", "DEBUG_", "PROC_")
"""Prefixes of the names of options that the text of a test does not mention."""
_OF_TABLES: Mapping[str, str] = {
    "IP6_NF_": "ip6tables",
    "IP_NF_": "iptables",
    "NETFILTER_XT": "ip6?tables",
}
_WORDS: Mapping[str, str] = {
    "BPF_SYSCALL": r"bpf\w*",
    "BRIDGE_VLAN_FILTERING": "vlan_filtering",
    "CAN": r"v?can\d+|type v?can",
    "CAN_VXCAN": "vxcan",
    "CGROUP_BPF": r"bpf\w*",
    "INET_ESP": "xfrm",
    "IPV6_GRE": r"ip6gre\w*",
    "IPV6_MULTIPLE_TABLES": r"-6 [^|;&]*\brule",
    "IPV6_SEG6_LWTUNNEL": r"seg6\w*",
    "IPV6_SIT": "sit",
    "IPV6_TUNNEL": "ip6tnl",
    "IPV6_VTI": "vti6",
    "L2TP_V3": "l2tp",
    "MPLS_IPTUNNEL": "mpls",
    "MPLS_ROUTING": "mpls",
    "NETDEVSIM": r"netdevsim|nsim\w*",
    "NET_DROP_MONITOR": r"dropwatch|drop_monitor",
    "NET_FOU": "fou|gue",
    "NET_IPGRE": r"gre(?:tap)?",
    "NET_IPVTI": "vti",
    "NET_TEAM": "team|teamd",
    "NET_VRF": "vrf",
    "NUMA": "numa",
    "PSAMPLE": "psample",
    "SYN_COOKIES": "tcp_syncookies",
    "TRACEPOINTS": "perf",
    "VLAN_8021Q": r"type vlan|vlan_filtering",
    "XFRM_INTERFACE": "type xfrm",
    "XFRM_USER": "xfrm",
}
"""Words, as patterns, of options for which they do not follow from the name (here without
`CONFIG_`)."""
_BUILT = re.compile(r"\./([A-Za-z][\w-]*)(?![\w./-])")
"""Pattern of a call of a program that is built beside the test."""
_FIRST_NAMESPACE = re.compile(r"\binit[ _]net(?:ns|_ns)?\b")
_CALLED = re.compile(r"\b(?:netns exec|timeout) +\S+ +(?=([a-z][\w.+-]*))")
"""Pattern of a call of a program in a network namespace, or with a time limit."""
_SAYS_NOTHING = re.compile(r"(?:2|&)>+ *(?:/dev/null|&-)")
"""Pattern of a redirection that discards the messages of a command, also the one that a program
does not exist."""
_LOOKED_FOR = re.compile(r"\b(?:command -v|which|type)\b|--?(?:version|help)\b")
"""Pattern of lines in which a test itself checks whether a program exists."""
LEAST_LETTERS = 3


def lacking(
    text: str,
    config: Iterable[str],
    options: Collection[str],
    has_built: Callable[[str], bool],
) -> str | None:
    """Return as text what a test uses but the kernel or the machine lacks; None if they lack
    nothing.

    Args:
        text: the test's script, or the source of its program.
        config: the lines of the file `config` of its folder.
        options: the options that the kernel has, such as `CONFIG_VETH`.
        has_built: whether a program beside the test has been built, or need not be built; called
            with its name.
    """
    code = "\n".join(_without_comments(text))
    if _FIRST_NAMESPACE.search(code):
        return "it is about the first network namespace, and each test has one of its own"
    for option in _missing_options(config, options):
        word = word_of(option)
        if word and re.search(rf"(?<![\w-])(?:{word})(?![\w-])", code):
            return f"{option} is not in the kernel"
    for program in dict.fromkeys(_BUILT.findall(code)):
        if not has_built(program):
            return f"its program {program} could not be built here"
    return None


def silently_absent(text: str, is_installed: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the programs that a script calls but that are not installed, if the script discards
    the messages about that.

    Args:
        text: the script.
        is_installed: whether a program is installed; called with its name.
    """
    lines = (each for each in _without_comments(text) if _SAYS_NOTHING.search(each))
    called = (
        name for each in lines if not _LOOKED_FOR.search(each) for name in _CALLED.findall(each)
    )
    return tuple(name for name in dict.fromkeys(called) if not is_installed(name))


def word_of(option: str) -> str:
    """Return the pattern of the word by which an option is recognised in a test; empty if it has no
    word.
    """
    name = option.removeprefix("CONFIG_")
    if name in _WORDS:
        return _WORDS[name]
    for tables, word in _OF_TABLES.items():
        if name.startswith(tables):
            return word
    if name.startswith("CRYPTO_"):
        return rf"\w*{name.split('_')[1].lower()}\w*"
    for family in _OF_TC:
        if name.startswith(family):
            return rf"(?:tc|qdisc|action)\b.*\b{name.removeprefix(family).lower()}"
    if name.startswith(_WITHOUT_WORD):
        return ""
    family = next((each for each in _FAMILIES if name.startswith(each)), "")
    word = name.removeprefix(family).lower()
    return word if len(word) >= LEAST_LETTERS else ""


def _missing_options(config: Iterable[str], options: Collection[str]) -> Iterator[str]:
    for line in config:
        option, equals, value = line.strip().partition("=")
        is_asked = equals and option.startswith("CONFIG_") and value in ("y", "m")
        if is_asked and option not in options:
            yield option


def _without_comments(text: str) -> Iterator[str]:
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped.startswith(("#", "//", "*", "/*")):
            yield stripped
