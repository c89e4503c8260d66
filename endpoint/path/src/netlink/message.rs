//! Netlink's framing: builds and parses headers and attributes. Pure.
//!
//! The format is that of `include/uapi/linux/netlink.h`: native byte order, everything padded to four bytes.

/// The size of a `struct nlmsghdr`, in bytes.
pub const HEADER_BYTES: usize = 16;

/// A list of netlink attributes. Each has a length, a type and a payload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attributes(Vec<u8>);

impl Attributes {
    /// Creates a list without attributes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a list that begins with a fixed structure, as in `TCA_OPTIONS` of netem or `VETH_INFO_PEER`.
    pub fn after(structure: &[u8]) -> Self {
        let mut bytes = structure.to_vec();
        pad(&mut bytes);
        Self(bytes)
    }

    /// Appends an attribute.
    pub fn put(mut self, kind: u16, payload: &[u8]) -> Self {
        let length = u16::try_from(4 + payload.len()).expect("a netlink attribute holds less than 64 KiB");
        self.0.extend_from_slice(&length.to_ne_bytes());
        self.0.extend_from_slice(&kind.to_ne_bytes());
        self.0.extend_from_slice(payload);
        pad(&mut self.0);
        self
    }

    /// Appends a 32-bit attribute.
    pub(crate) fn put_u32(self, kind: u16, value: u32) -> Self {
        self.put(kind, &value.to_ne_bytes())
    }

    /// Appends a 64-bit attribute.
    pub(crate) fn put_u64(self, kind: u16, value: u64) -> Self {
        self.put(kind, &value.to_ne_bytes())
    }

    /// Appends an attribute with a NUL-terminated string.
    pub(crate) fn put_string(self, kind: u16, value: &str) -> Self {
        self.put(kind, &[value.as_bytes(), &[0]].concat())
    }

    /// Appends an attribute that contains attributes.
    pub(crate) fn nest(self, kind: u16, inner: Self) -> Self {
        self.put(kind | libc::NLA_F_NESTED as u16, &inner.0)
    }

    /// Returns the attributes as bytes on the wire.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A request to the kernel, without its sequence number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What the request is for, in error messages: `create the link path0`.
    pub attempt: String,
    kind: u16,
    flags: u16,
    body: Vec<u8>,
}

impl Request {
    /// Creates a request of type `kind` with the family's fixed `structure` and `attributes`. `NLM_F_REQUEST` is added
    /// to `flags`.
    pub fn new(attempt: String, kind: u16, flags: i32, structure: &[u8], attributes: &Attributes) -> Self {
        let mut body = structure.to_vec();
        pad(&mut body);
        body.extend_from_slice(attributes.bytes());
        Self { attempt, kind, flags: (libc::NLM_F_REQUEST | flags) as u16, body }
    }

    /// Appends the message to `batch`.
    pub fn write(&self, batch: &mut Vec<u8>, sequence: u32, acknowledge: bool) {
        let flags = if acknowledge { self.flags | libc::NLM_F_ACK as u16 } else { self.flags };
        let length = u32::try_from(HEADER_BYTES + self.body.len()).expect("a request is less than 4 GiB");
        batch.extend_from_slice(&length.to_ne_bytes());
        batch.extend_from_slice(&self.kind.to_ne_bytes());
        batch.extend_from_slice(&flags.to_ne_bytes());
        batch.extend_from_slice(&sequence.to_ne_bytes());
        batch.extend_from_slice(&0_u32.to_ne_bytes());
        batch.extend_from_slice(&self.body);
        pad(batch);
    }
}

#[cfg(test)]
impl Request {
    /// Returns the message with sequence number 1, asking for an acknowledgement, in hex.
    pub(crate) fn hex(&self) -> String {
        hex::encode(self.message())
    }

    /// Returns the message with sequence number 1, asking for an acknowledgement, as bytes.
    pub(crate) fn message(&self) -> Vec<u8> {
        let mut message = Vec::new();
        self.write(&mut message, 1, true);
        message
    }
}

/// One message from the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reply<'a> {
    /// The message's type: `NLMSG_ERROR`, or one of the family's.
    pub kind: u16,
    /// The flags, `NLM_F_*`.
    pub flags: u16,
    /// The sequence number of the request that this message answers.
    pub sequence: u32,
    /// The bytes after the header.
    pub body: &'a [u8],
}

/// Returns the messages of one datagram.
pub(crate) fn replies(mut datagram: &[u8]) -> impl Iterator<Item = Reply<'_>> {
    std::iter::from_fn(move || {
        let length = u32_at(datagram, 0)? as usize;
        let message = datagram.get(..length).filter(|message| message.len() >= HEADER_BYTES)?;
        datagram = datagram.get(padded(length)..).unwrap_or_default();
        Some(Reply {
            kind: u16_at(message, 4)?,
            flags: u16_at(message, 6)?,
            sequence: u32_at(message, 8)?,
            body: &message[HEADER_BYTES..],
        })
    })
}

/// Returns the attributes in `bytes`: type, without flag bits, and payload of each.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & libc::NLA_TYPE_MASK as u16;
        let payload = bytes.get(4..length)?;
        bytes = bytes.get(padded(length)..).unwrap_or_default();
        Some((kind, payload))
    })
}

/// Returns the payload of the first attribute of type `kind`.
pub fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|&(found, _)| found == kind).map(|(_, payload)| payload)
}

/// Returns the 16-bit number at `offset`.
pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(offset..)?.first_chunk().copied()?))
}

/// Returns the 32-bit number at `offset`.
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(offset..)?.first_chunk().copied()?))
}

/// Returns the 64-bit number at `offset`.
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(offset..)?.first_chunk().copied()?))
}

/// Returns 32-bit numbers as bytes on the wire; most fixed structures of the kernel consist of such numbers.
pub(crate) fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(padded(bytes.len()), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_to_four_bytes_but_tell_their_own_length() {
        let built = Attributes::new().put_string(3, "lo").put_u32(4, 0x0102_0304);
        let expected = [&[7, 0, 3, 0, b'l', b'o', 0, 0][..], &[8, 0, 4, 0, 4, 3, 2, 1]].concat();
        assert_eq!(built.bytes(), expected);
    }

    #[test]
    fn attributes_come_back_as_they_went() {
        let built = Attributes::new().put(1, &[9]).nest(2, Attributes::new().put_u64(5, 77));
        assert_eq!(attribute(built.bytes(), 1), Some(&[9][..]));
        let inner = attribute(built.bytes(), 2).expect("the nest is found without its flag bit");
        assert_eq!(attribute(inner, 5).and_then(|payload| u64_at(payload, 0)), Some(77));
    }

    #[test]
    fn a_truncated_datagram_ends_the_iteration() {
        let mut batch = Vec::new();
        let request = Request::new("ask".into(), 18, 0, &[0; 16], &Attributes::new().put_u32(1, 2));
        request.write(&mut batch, 7, true);
        request.write(&mut batch, 8, false);
        let sequences: Vec<u32> = replies(&batch).map(|reply| reply.sequence).collect();
        assert_eq!(sequences, [7, 8]);
        assert_eq!(replies(&batch[..batch.len() - 1]).count(), 1);
        assert_eq!(attributes(&[8, 0, 1, 0, 5]).count(), 0);
    }
}
