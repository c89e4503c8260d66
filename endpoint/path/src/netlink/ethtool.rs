//! Offloads, through ethtool's generic netlink family (`include/uapi/linux/ethtool_netlink.h`).
//!
//! A feature that lets the kernel process several packets as one makes netem drop several packets as one. Such features
//! are recognised by parts of their names, so that those which a newer kernel adds are switched off too.

use super::generic::ask_family;
use super::message::{Attributes, Request, attribute, attributes, u32_at};
use super::{NetlinkError, Socket};

const ETHTOOL_MSG_STRSET_GET: u8 = 1;
const ETHTOOL_MSG_FEATURES_GET: u8 = 11;
const ETHTOOL_MSG_FEATURES_SET: u8 = 12;
const ETHTOOL_GENL_VERSION: u8 = 1;

const ETHTOOL_A_HEADER: u16 = 1;
const ETHTOOL_A_HEADER_DEV_INDEX: u16 = 1;
const ETHTOOL_A_HEADER_FLAGS: u16 = 3;
const ETHTOOL_FLAG_COMPACT_BITSETS: u32 = 1;
const ETHTOOL_FLAG_OMIT_REPLY: u32 = 2;

const ETHTOOL_A_STRSET_STRINGSETS: u16 = 2;
const ETHTOOL_A_STRINGSETS_STRINGSET: u16 = 1;
const ETHTOOL_A_STRINGSET_ID: u16 = 1;
const ETHTOOL_A_STRINGSET_STRINGS: u16 = 3;
const ETHTOOL_A_STRING_INDEX: u16 = 1;
const ETHTOOL_A_STRING_VALUE: u16 = 2;
const ETH_SS_FEATURES: u32 = 4;

const ETHTOOL_A_FEATURES_WANTED: u16 = 3;
const ETHTOOL_A_FEATURES_ACTIVE: u16 = 4;
const ETHTOOL_A_BITSET_SIZE: u16 = 2;
const ETHTOOL_A_BITSET_VALUE: u16 = 4;
const ETHTOOL_A_BITSET_MASK: u16 = 5;

/// The feature `gso`: the kernel segments a large packet just before the device, so the device still sees single
/// packets.
const SOFTWARE_SEGMENTATION: &str = "tx-generic-segmentation";

/// A device whose offload features are to be restricted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offloads {
    /// The interface index.
    pub index: u32,
    /// Whether `gso` stays on, which saves work in the sender's stack and still puts single packets on the wire.
    pub software_segmentation: bool,
}

/// The ethtool netlink family of this kernel: its number and the names of its features.
#[derive(Debug)]
pub struct Ethtool {
    family: u16,
    /// The names of the features, in the order of their bits.
    features: Vec<String>,
}

impl Ethtool {
    /// Asks the kernel for the number of the ethtool family and the names of its features.
    pub fn learn(socket: &mut Socket) -> Result<Self, NetlinkError> {
        let family = ask_family(socket, "ethtool", "CONFIG_ETHTOOL_NETLINK")?;
        let features = ask_features(socket, family)?;
        Ok(Self { family, features })
    }

    /// Switches off, at each device, the features that merge packets, and reads the features back to check that.
    pub fn restrict(&self, socket: &mut Socket, devices: &[Offloads]) -> Result<(), RestrictError> {
        let requests: Vec<Request> = devices.iter().flat_map(|device| [self.set(device), self.ask(device)]).collect();
        let answers = socket.transact(&requests)?;
        for (device, answer) in devices.iter().zip(&answers) {
            let active = active_bits(answer).ok_or_else(|| NetlinkError::Incomplete {
                attempt: format!("read the offloads of link {}", device.index),
                missing: "active features",
            })?;
            let wrong: Vec<String> = self
                .features
                .iter()
                .enumerate()
                .filter_map(|(bit, name)| Some((wanted(name, device)?, bit, name)))
                .filter(|&(on, bit, _)| on != is_set(active, bit))
                .map(|(on, _, name)| format!("{name} {}", if on { "off" } else { "on" }))
                .collect();
            if !wrong.is_empty() {
                return Err(RestrictError::Kept { index: device.index, features: wrong.join(", ") });
            }
        }
        Ok(())
    }

    /// Returns the names of a device's enabled features that merge several incoming packets into one.
    pub fn joining(&self, socket: &mut Socket, index: u32) -> Result<Vec<&str>, NetlinkError> {
        let request = self.ask(&Offloads { index, software_segmentation: true });
        let answer = socket.ask(&request)?;
        let missing = || NetlinkError::Incomplete { attempt: request.attempt, missing: "active features" };
        let active = active_bits(&answer).ok_or_else(missing)?;
        let features = self.features.iter().enumerate();
        Ok(features.filter(|(bit, name)| joins(name) && is_set(active, *bit)).map(|(_, name)| &**name).collect())
    }

    fn set(&self, device: &Offloads) -> Request {
        let words = self.features.len().div_ceil(32);
        let (mut value, mut mask) = (vec![0_u32; words], vec![0_u32; words]);
        for (bit, name) in self.features.iter().enumerate() {
            if let Some(on) = wanted(name, device) {
                mask[bit / 32] |= 1 << (bit % 32);
                value[bit / 32] |= u32::from(on) << (bit % 32);
            }
        }
        let bytes = |words: Vec<u32>| words.into_iter().flat_map(u32::to_ne_bytes).collect::<Vec<u8>>();
        let bitset = Attributes::new()
            .put_u32(ETHTOOL_A_BITSET_SIZE, u32::try_from(self.features.len()).expect("features are tens"))
            .put(ETHTOOL_A_BITSET_VALUE, &bytes(value))
            .put(ETHTOOL_A_BITSET_MASK, &bytes(mask));
        let header = header(device, ETHTOOL_FLAG_OMIT_REPLY).nest(ETHTOOL_A_FEATURES_WANTED, bitset);
        self.request("set", ETHTOOL_MSG_FEATURES_SET, device, &header)
    }

    fn ask(&self, device: &Offloads) -> Request {
        let header = header(device, ETHTOOL_FLAG_COMPACT_BITSETS);
        self.request("read", ETHTOOL_MSG_FEATURES_GET, device, &header)
    }

    fn request(&self, verb: &str, command: u8, device: &Offloads, attributes: &Attributes) -> Request {
        let attempt = format!("{verb} the offloads of link {}", device.index);
        Request::new(attempt, self.family, 0, &[command, ETHTOOL_GENL_VERSION, 0, 0], attributes)
    }
}

fn header(device: &Offloads, flags: u32) -> Attributes {
    let header = Attributes::new().put_u32(ETHTOOL_A_HEADER_DEV_INDEX, device.index);
    Attributes::new().nest(ETHTOOL_A_HEADER, header.put_u32(ETHTOOL_A_HEADER_FLAGS, flags))
}

/// The reason why a device's offloads could not be restricted.
#[derive(Debug, thiserror::Error)]
pub enum RestrictError {
    /// A request failed.
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    /// The kernel acknowledged the request, but features remain as they were.
    #[error("link {index} still has {features}: one drop would not be one packet")]
    Kept {
        /// The interface index.
        index: u32,
        /// The features that are not as requested.
        features: String,
    },
}

/// Returns whether a feature must be on (true) or off (false) on a device; `None` if it does not matter.
fn wanted(feature: &str, device: &Offloads) -> Option<bool> {
    if feature == SOFTWARE_SEGMENTATION {
        return Some(device.software_segmentation);
    }
    let sends_several =
        feature.starts_with("tx-gso-") || feature.starts_with("tx-") && feature.ends_with("-segmentation");
    (sends_several || joins(feature)).then_some(false)
}

/// Returns whether a feature merges several incoming packets into one.
fn joins(feature: &str) -> bool {
    feature.starts_with("rx-gro") || feature == "rx-lro" || feature == "rx-udp-gro-forwarding"
}

fn ask_features(socket: &mut Socket, family: u16) -> Result<Vec<String>, NetlinkError> {
    let attempt = "read the names of the offloads";
    let set = Attributes::new().put_u32(ETHTOOL_A_STRINGSET_ID, ETH_SS_FEATURES);
    let sets = Attributes::new().nest(ETHTOOL_A_STRINGSETS_STRINGSET, set);
    // The header must be present even though it names no device.
    let asked = Attributes::new().nest(ETHTOOL_A_HEADER, Attributes::new()).nest(ETHTOOL_A_STRSET_STRINGSETS, sets);
    let generic = [ETHTOOL_MSG_STRSET_GET, ETHTOOL_GENL_VERSION, 0, 0];
    let answer = socket.ask(&Request::new(attempt.into(), family, 0, &generic, &asked))?;
    let names = feature_names(&answer).filter(|names| !names.is_empty());
    names.ok_or(NetlinkError::Incomplete { attempt: attempt.into(), missing: "string set" })
}

fn feature_names(answer: &[u8]) -> Option<Vec<String>> {
    let sets = attribute(answer.get(4..)?, ETHTOOL_A_STRSET_STRINGSETS)?;
    let strings = attribute(attribute(sets, ETHTOOL_A_STRINGSETS_STRINGSET)?, ETHTOOL_A_STRINGSET_STRINGS)?;
    let mut names = Vec::new();
    for (_, string) in attributes(strings) {
        let index = u32_at(attribute(string, ETHTOOL_A_STRING_INDEX)?, 0)? as usize;
        let value = attribute(string, ETHTOOL_A_STRING_VALUE)?;
        names.resize(names.len().max(index + 1), String::new());
        names[index] = String::from_utf8_lossy(value).trim_end_matches('\0').to_owned();
    }
    Some(names)
}

fn active_bits(answer: &[u8]) -> Option<&[u8]> {
    attribute(attribute(answer.get(4..)?, ETHTOOL_A_FEATURES_ACTIVE)?, ETHTOOL_A_BITSET_VALUE)
}

fn is_set(bits: &[u8], bit: usize) -> bool {
    u32_at(bits, bit / 32 * 4).is_some_and(|word| (word >> (bit % 32)) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_joins_packets_is_off_and_gso_is_the_hosts_alone() {
        let device = |software_segmentation| Offloads { index: 10, software_segmentation };
        for feature in [
            "tx-tcp-segmentation",
            "tx-tcp6-segmentation",
            "tx-tcp-accecn-segmentation",
            "tx-udp-segmentation",
            "tx-sctp-segmentation",
            "tx-gso-list",
            "tx-gso-partial",
            "rx-gro",
            "rx-gro-list",
            "rx-udp-gro-forwarding",
            "rx-lro",
        ] {
            assert_eq!(wanted(feature, &device(true)), Some(false), "{feature}");
        }
        assert_eq!(wanted("tx-generic-segmentation", &device(true)), Some(true));
        assert_eq!(wanted("tx-generic-segmentation", &device(false)), Some(false));
        for feature in ["tx-checksum-ip-generic", "tx-scatter-gather", "rx-checksum", "rx-vlan-filter"] {
            assert_eq!(wanted(feature, &device(true)), None, "{feature}");
        }
    }

    #[test]
    fn bits_are_counted_in_native_words() {
        let words = [1_u32 << 31, 1 << 2].map(u32::to_ne_bytes).concat();
        assert!(is_set(&words, 31) && is_set(&words, 34));
        assert!(!is_set(&words, 0) && !is_set(&words, 64));
    }
}
