//! nf_tables requests that drop packets by their numbers in a router and count them, translate addresses, and keep a
//! router from sending ICMP. Pure.
//!
//! Structures and numbers are those of `include/uapi/linux/netfilter/nf_tables.h` and `nfnetlink.h`. Numbers in
//! attributes are big endian.

use super::NetlinkError;
use super::message::{Attributes, Request, attribute, attributes};

const NFNL_SUBSYS_NFTABLES: u16 = 10;
const NFNL_MSG_BATCH_BEGIN: u16 = 0x10;
const NFNL_MSG_BATCH_END: u16 = 0x11;
const NFPROTO_UNSPEC: u8 = 0;
const NFPROTO_INET: u8 = 1;

const NFT_MSG_NEWTABLE: u16 = 0;
const NFT_MSG_NEWCHAIN: u16 = 3;
const NFT_MSG_NEWRULE: u16 = 6;
const NFT_MSG_GETRULE: u16 = 7;
const NFT_MSG_NEWSET: u16 = 9;
const NFT_MSG_NEWSETELEM: u16 = 12;

const NFTA_TABLE_NAME: u16 = 1;
const NFTA_CHAIN_TABLE: u16 = 1;
const NFTA_CHAIN_NAME: u16 = 3;
const NFTA_CHAIN_HOOK: u16 = 4;
const NFTA_CHAIN_TYPE: u16 = 7;
const NFTA_HOOK_HOOKNUM: u16 = 1;
const NFTA_HOOK_PRIORITY: u16 = 2;
const NF_INET_FORWARD: u32 = 2;
const NF_INET_LOCAL_OUT: u32 = 3;
const NF_INET_POST_ROUTING: u32 = 4;
/// The priority of translating the source (`NF_IP_PRI_NAT_SRC`).
const NAT_SOURCE_PRIORITY: u32 = 100;
const NFTA_RULE_TABLE: u16 = 1;
const NFTA_RULE_CHAIN: u16 = 2;
const NFTA_RULE_EXPRESSIONS: u16 = 4;
const NFTA_SET_TABLE: u16 = 1;
const NFTA_SET_NAME: u16 = 2;
const NFTA_SET_FLAGS: u16 = 3;
const NFTA_SET_KEY_TYPE: u16 = 4;
const NFTA_SET_KEY_LEN: u16 = 5;
const NFTA_SET_ID: u16 = 10;
const NFTA_SET_ELEM_LIST_TABLE: u16 = 1;
const NFTA_SET_ELEM_LIST_SET: u16 = 2;
const NFTA_SET_ELEM_LIST_ELEMENTS: u16 = 3;
const NFTA_SET_ELEM_KEY: u16 = 1;
/// The number of the type of integer keys in `nft`.
const TYPE_INTEGER: u32 = 4;

const NFTA_LIST_ELEM: u16 = 1;
const NFTA_EXPR_NAME: u16 = 1;
const NFTA_EXPR_DATA: u16 = 2;
const NFTA_DATA_VALUE: u16 = 1;
const NFTA_DATA_VERDICT: u16 = 2;
const NFTA_VERDICT_CODE: u16 = 1;
const NF_DROP: u32 = 0;
const NFT_REG_VERDICT: u32 = 0;
const NFT_REG_1: u32 = 1;
const NFTA_META_DREG: u16 = 1;
const NFTA_META_KEY: u16 = 2;
const NFT_META_OIF: u32 = 5;
const NFT_META_L4PROTO: u32 = 16;
const NFTA_CMP_SREG: u16 = 1;
const NFTA_CMP_OP: u16 = 2;
const NFTA_CMP_DATA: u16 = 3;
const NFT_CMP_EQ: u32 = 0;
const NFTA_NG_DREG: u16 = 1;
const NFTA_NG_MODULUS: u16 = 2;
const NFTA_NG_TYPE: u16 = 3;
const NFT_NG_INCREMENTAL: u32 = 0;
const NFTA_LOOKUP_SET: u16 = 1;
const NFTA_LOOKUP_SREG: u16 = 2;
const NFTA_COUNTER_PACKETS: u16 = 2;
const NFTA_MASQ_FLAGS: u16 = 1;
const NF_NAT_RANGE_PROTO_RANDOM_FULLY: u32 = 1 << 4;
const NFTA_IMMEDIATE_DREG: u16 = 1;
const NFTA_IMMEDIATE_DATA: u16 = 2;

/// The table that holds all chains and sets of a router.
const TABLE: &str = "netwarp";

/// The numbers of the packets that are dropped. Packets are numbered from 0 on, modulo `modulus`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbers {
    /// The number of packets after which numbering begins again at 0.
    pub modulus: u32,
    /// The numbers of the dropped packets, each below `modulus`.
    pub lost: Vec<u32>,
}

/// Returns the requests, for [`super::Socket::commit`], that drop packets forwarded through a device, by their numbers.
pub(crate) fn lose(index: u32, numbers: &Numbers) -> Vec<Request> {
    let set = format!("lost{index}");
    let attempt = format!("lose packets by number that leave by link {index} (nf_tables)");
    let create = |message, attributes| create(&attempt, message, &attributes);
    let chain = Chain { name: &chain_of(index), kind: "filter", hook: NF_INET_FORWARD, priority: 0 };
    let mut keys = named(NFTA_SET_TABLE, NFTA_SET_NAME, &set);
    for (kind, value) in
        [(NFTA_SET_FLAGS, 0), (NFTA_SET_KEY_TYPE, TYPE_INTEGER), (NFTA_SET_KEY_LEN, 4), (NFTA_SET_ID, index)]
    {
        keys = big_endian(keys, kind, value);
    }
    let elements = numbers.lost.iter().fold(Attributes::new(), |list, number| {
        list.nest(NFTA_LIST_ELEM, Attributes::new().nest(NFTA_SET_ELEM_KEY, register_value(*number)))
    });
    vec![
        create(NFT_MSG_NEWTABLE, Attributes::new().put_string(NFTA_TABLE_NAME, TABLE)),
        create(NFT_MSG_NEWCHAIN, chain.described()),
        create(NFT_MSG_NEWSET, keys),
        create(
            NFT_MSG_NEWSETELEM,
            named(NFTA_SET_ELEM_LIST_TABLE, NFTA_SET_ELEM_LIST_SET, &set).nest(NFTA_SET_ELEM_LIST_ELEMENTS, elements),
        ),
        create(
            NFT_MSG_NEWRULE,
            named(NFTA_RULE_TABLE, NFTA_RULE_CHAIN, chain.name)
                .nest(NFTA_RULE_EXPRESSIONS, losing(index, numbers.modulus, &set)),
        ),
    ]
}

/// Returns the requests, for [`super::Socket::commit`], that give packets forwarded through a device the device's
/// address as source (masquerading).
pub(crate) fn translate(index: u32, random_ports: bool) -> Vec<Request> {
    let attempt = format!("translate addresses of packets that leave by link {index} (nf_tables)");
    let name = format!("nat{index}");
    let chain = Chain { name: &name, kind: "nat", hook: NF_INET_POST_ROUTING, priority: NAT_SOURCE_PRIORITY };
    let flags = if random_ports { NF_NAT_RANGE_PROTO_RANDOM_FULLY } else { 0 };
    let masquerade = ("masq", big_endian(Attributes::new(), NFTA_MASQ_FLAGS, flags));
    let rule = named(NFTA_RULE_TABLE, NFTA_RULE_CHAIN, &name)
        .nest(NFTA_RULE_EXPRESSIONS, listed(leaving_by(index).into_iter().chain([masquerade])));
    vec![
        create(&attempt, NFT_MSG_NEWTABLE, &Attributes::new().put_string(NFTA_TABLE_NAME, TABLE)),
        create(&attempt, NFT_MSG_NEWCHAIN, &chain.described()),
        create(&attempt, NFT_MSG_NEWRULE, &rule),
    ]
}

/// Returns the requests, for [`super::Socket::commit`], that drop all ICMP and ICMPv6 messages that a node sends
/// itself. Forwarded messages are not affected.
pub(crate) fn silence() -> Vec<Request> {
    let attempt = "drop the router's own ICMP messages (nf_tables)";
    let chain = Chain { name: "silence", kind: "filter", hook: NF_INET_LOCAL_OUT, priority: 0 };
    let rule = |protocol: u8| {
        let compared = big_endian(into_register(NFTA_CMP_SREG), NFTA_CMP_OP, NFT_CMP_EQ);
        let value = Attributes::new().put(NFTA_DATA_VALUE, &[protocol]);
        let expressions = [
            ("meta", big_endian(into_register(NFTA_META_DREG), NFTA_META_KEY, NFT_META_L4PROTO)),
            ("cmp", compared.nest(NFTA_CMP_DATA, value)),
            dropping(),
        ];
        let rule = named(NFTA_RULE_TABLE, NFTA_RULE_CHAIN, chain.name);
        create(attempt, NFT_MSG_NEWRULE, &rule.nest(NFTA_RULE_EXPRESSIONS, listed(expressions.into_iter())))
    };
    vec![
        create(attempt, NFT_MSG_NEWTABLE, &Attributes::new().put_string(NFTA_TABLE_NAME, TABLE)),
        create(attempt, NFT_MSG_NEWCHAIN, &chain.described()),
        rule(libc::IPPROTO_ICMP as u8),
        rule(libc::IPPROTO_ICMPV6 as u8),
    ]
}

/// A base chain: rules that packets pass at a netfilter hook.
struct Chain<'a> {
    name: &'a str,
    kind: &'a str,
    hook: u32,
    priority: u32,
}

impl Chain<'_> {
    fn described(&self) -> Attributes {
        let hook = big_endian(Attributes::new(), NFTA_HOOK_HOOKNUM, self.hook);
        named(NFTA_CHAIN_TABLE, NFTA_CHAIN_NAME, self.name)
            .nest(NFTA_CHAIN_HOOK, big_endian(hook, NFTA_HOOK_PRIORITY, self.priority))
            .put_string(NFTA_CHAIN_TYPE, self.kind)
    }
}

/// Returns the request, for [`super::Socket::dump`], for the rules that drop packets of a device by number.
pub(crate) fn ask_lost(index: u32) -> Request {
    let attributes = Attributes::new().put_string(NFTA_RULE_TABLE, TABLE).put_string(NFTA_RULE_CHAIN, &chain_of(index));
    let attempt = format!("read how many packets were lost by number on link {index}");
    let kind = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETRULE;
    Request::new(attempt, kind, libc::NLM_F_DUMP, &family(NFPROTO_INET, 0), &attributes)
}

/// Decodes the number of dropped packets from the answers to [`ask_lost`].
pub(crate) fn lost_packets(rules: &[Vec<u8>]) -> Result<u64, NetlinkError> {
    let missing =
        || NetlinkError::Incomplete { attempt: "read how many packets were lost by number".into(), missing: "counter" };
    rules.iter().find_map(|rule| counted(rule)).ok_or_else(missing)
}

/// Returns the message that begins a batch of requests, which takes effect as a whole or not at all.
pub(super) fn begin() -> Request {
    bound("begin a change of nf_tables", NFNL_MSG_BATCH_BEGIN)
}

/// Returns the message that ends a batch.
pub(super) fn end() -> Request {
    bound("end a change of nf_tables", NFNL_MSG_BATCH_END)
}

fn bound(attempt: &str, kind: u16) -> Request {
    Request::new(attempt.into(), kind, 0, &family(NFPROTO_UNSPEC, NFNL_SUBSYS_NFTABLES), &Attributes::new())
}

fn change(attempt: String, kind: u16, flags: i32, attributes: &Attributes) -> Request {
    Request::new(attempt, kind, flags, &family(NFPROTO_INET, 0), attributes)
}

fn create(attempt: &str, message: u16, attributes: &Attributes) -> Request {
    change(attempt.to_owned(), NFNL_SUBSYS_NFTABLES << 8 | message, libc::NLM_F_CREATE, attributes)
}

/// Returns the attributes that name an object and its table.
fn named(table: u16, name: u16, value: &str) -> Attributes {
    Attributes::new().put_string(table, TABLE).put_string(name, value)
}

/// An expression of a rule: name and data.
type Expression = (&'static str, Attributes);

/// Returns the expressions that match packets leaving through a device.
fn leaving_by(index: u32) -> [Expression; 2] {
    let compared = big_endian(into_register(NFTA_CMP_SREG), NFTA_CMP_OP, NFT_CMP_EQ);
    [
        ("meta", big_endian(into_register(NFTA_META_DREG), NFTA_META_KEY, NFT_META_OIF)),
        ("cmp", compared.nest(NFTA_CMP_DATA, register_value(index))),
    ]
}

fn into_register(kind: u16) -> Attributes {
    big_endian(Attributes::new(), kind, NFT_REG_1)
}

fn listed(expressions: impl Iterator<Item = Expression>) -> Attributes {
    expressions.fold(Attributes::new(), |list, (name, data)| {
        let expression = Attributes::new().put_string(NFTA_EXPR_NAME, name).nest(NFTA_EXPR_DATA, data);
        list.nest(NFTA_LIST_ELEM, expression)
    })
}

/// Returns the expressions of a rule that numbers the packets leaving through a device, and drops and counts those
/// whose number is in `set`.
fn losing(index: u32, modulus: u32, set: &str) -> Attributes {
    let into = into_register;
    let numbered = big_endian(into(NFTA_NG_DREG), NFTA_NG_MODULUS, modulus);
    let lost = [
        ("numgen", big_endian(numbered, NFTA_NG_TYPE, NFT_NG_INCREMENTAL)),
        ("lookup", big_endian(Attributes::new().put_string(NFTA_LOOKUP_SET, set), NFTA_LOOKUP_SREG, NFT_REG_1)),
        ("counter", Attributes::new()),
        dropping(),
    ];
    listed(leaving_by(index).into_iter().chain(lost))
}

/// Returns the expression that drops the packets that a rule matches.
fn dropping() -> Expression {
    let verdict = Attributes::new().nest(NFTA_DATA_VERDICT, big_endian(Attributes::new(), NFTA_VERDICT_CODE, NF_DROP));
    let dropped = big_endian(Attributes::new(), NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    ("immediate", dropped.nest(NFTA_IMMEDIATE_DATA, verdict))
}

/// Returns the number of packets of a rule's counter; [`None`] if it has no counter.
fn counted(rule: &[u8]) -> Option<u64> {
    let expressions = attribute(rule.get(family(0, 0).len()..)?, NFTA_RULE_EXPRESSIONS)?;
    let counter = attributes(expressions)
        .map(|(_, expression)| expression)
        .find(|expression| attribute(expression, NFTA_EXPR_NAME) == Some(b"counter\0"))?;
    let packets = attribute(attribute(counter, NFTA_EXPR_DATA)?, NFTA_COUNTER_PACKETS)?;
    Some(u64::from_be_bytes(packets.try_into().ok()?))
}

fn chain_of(index: u32) -> String {
    format!("link{index}")
}

/// Returns a `struct nfgenmsg`: family, version, resource.
fn family(family: u8, resource: u16) -> [u8; 4] {
    let [high, low] = resource.to_be_bytes();
    [family, 0, high, low]
}

/// Appends a 32-bit number in big endian, the byte order of nf_tables.
fn big_endian(attributes: Attributes, kind: u16, value: u32) -> Attributes {
    attributes.put(kind, &value.to_be_bytes())
}

/// Returns a value in the machine's own byte order, as registers of nf_tables hold it.
fn register_value(value: u32) -> Attributes {
    Attributes::new().put(NFTA_DATA_VALUE, &value.to_ne_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rules_counter_is_found_among_its_expressions() {
        let counter = Attributes::new().put(1, &[0; 8]).put(NFTA_COUNTER_PACKETS, &77_u64.to_be_bytes());
        let list = [("meta", Attributes::new()), ("counter", counter)].into_iter().fold(
            Attributes::new(),
            |list, (name, data)| {
                let expression = Attributes::new().put_string(NFTA_EXPR_NAME, name).nest(NFTA_EXPR_DATA, data);
                list.nest(NFTA_LIST_ELEM, expression)
            },
        );
        let rule = Attributes::new().put_string(NFTA_RULE_TABLE, TABLE).nest(NFTA_RULE_EXPRESSIONS, list);
        let answer = [&family(NFPROTO_INET, 0)[..], rule.bytes()].concat();
        assert_eq!(lost_packets(&[answer]).unwrap(), 77);
        assert!(lost_packets(&[family(NFPROTO_INET, 0).to_vec()]).is_err());
    }

    /// The expected bytes were written by hand from `nfnetlink.h`: all numbers are little endian, except for the
    /// resource.
    #[test]
    fn a_batch_is_bounded_by_messages_of_nf_tables() {
        assert_eq!(begin().hex(), "14000000100005000100000000000000".to_owned() + "0000000a");
        assert_eq!(end().hex(), "14000000110005000100000000000000".to_owned() + "0000000a");
    }

    #[test]
    fn a_mapping_keeps_its_port_unless_it_is_to_be_drawn() {
        for (random_ports, flags) in [(false, "00000000"), (true, "00000010")] {
            let requests = translate(10, random_ports);
            let masquerade = hex::encode("masq\0");
            let rule = requests[2].hex();
            let (_, data) = rule.split_once(&masquerade).expect("a rule that masquerades");
            assert!(data.contains(&format!("08000100{flags}")), "{data}");
        }
    }

    #[test]
    fn a_silent_router_drops_icmp_of_both_families() {
        let rules: Vec<String> = silence()[2..].iter().map(Request::hex).collect();
        for (rule, protocol) in rules.iter().zip(["01", "3a"]) {
            // NFTA_DATA_VALUE of one byte, padded to four.
            assert!(rule.contains(&format!("05000100{protocol}000000")), "{rule}");
            assert!(rule.contains(&hex::encode("immediate\0")), "{rule}");
        }
        assert_eq!(rules.len(), 2);
    }

    #[test]
    fn each_lost_number_is_an_element_of_the_set() {
        let requests = lose(10, &Numbers { modulus: 100, lost: vec![99] });
        assert_eq!(requests.len(), 5);
        assert!(requests[3].hex().contains(&hex::encode(99_u32.to_ne_bytes())));
        assert!(requests[4].hex().contains(&hex::encode(100_u32.to_be_bytes())));
    }
}
