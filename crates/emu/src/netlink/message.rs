//! Builds netlink messages: a header, a fixed body, and attributes.

/// `struct nlmsghdr`.
const HEADER: usize = 16;
/// Attributes and messages begin at multiples of this.
const ALIGNMENT: usize = 4;
/// `NLA_F_NESTED`.
const NESTED: u16 = 1 << 15;

/// A message under construction. All numbers are in the byte order of the machine, as netlink wants them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// A message of this type with `NLM_F_*` flags, and the fixed structure of that type.
    pub fn new(kind: u16, flags: u16, body: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(body);
        let mut message = Self { bytes };
        message.pad();
        message
    }

    /// Attributes alone, to be put into an attribute of a message.
    pub fn attributes() -> Self {
        Self { bytes: Vec::new() }
    }

    /// Adds bytes as they are: a fixed structure before attributes.
    #[must_use]
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self.pad();
        self
    }

    /// Adds an attribute.
    #[must_use]
    pub fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        self.bytes.extend_from_slice(&((ALIGNMENT + value.len()) as u16).to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.pad();
        self
    }

    /// Adds an attribute of one byte.
    #[must_use]
    pub fn u8(self, kind: u16, value: u8) -> Self {
        self.attribute(kind, &[value])
    }

    /// Adds an attribute of two bytes.
    #[must_use]
    pub fn u16(self, kind: u16, value: u16) -> Self {
        self.attribute(kind, &value.to_ne_bytes())
    }

    /// Adds an attribute of four bytes.
    #[must_use]
    pub fn u32(self, kind: u16, value: u32) -> Self {
        self.attribute(kind, &value.to_ne_bytes())
    }

    /// Adds an attribute of eight bytes.
    #[must_use]
    pub fn u64(self, kind: u16, value: u64) -> Self {
        self.attribute(kind, &value.to_ne_bytes())
    }

    /// Adds a text with its final zero.
    #[must_use]
    pub fn text(self, kind: u16, value: &str) -> Self {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.attribute(kind, &bytes)
    }

    /// Adds an attribute that holds attributes.
    #[must_use]
    pub fn nested(self, kind: u16, inner: &Self) -> Self {
        self.attribute(kind | NESTED, &inner.bytes)
    }

    /// The bytes as they stand: of a message without its length, or of attributes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The message with its length and sequence number, ready to be sent.
    pub fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length = self.bytes.len() as u32;
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGNMENT), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_their_length_is_not() {
        let message = Message::attributes().text(1, "ab").u32(2, 7);
        assert_eq!(message.as_bytes(), [7, 0, 1, 0, b'a', b'b', 0, 0, 8, 0, 2, 0, 7, 0, 0, 0]);
    }

    #[test]
    fn a_message_knows_its_length() {
        let inner = Message::attributes().u16(5, 9);
        let bytes = Message::new(16, 1, &[0; 3]).nested(2, &inner).finish(3);
        assert_eq!(bytes.len(), 16 + 4 + 4 + 8);
        assert_eq!(bytes[..12], [32, 0, 0, 0, 16, 0, 1, 0, 3, 0, 0, 0]);
        assert_eq!(bytes[20..24], [12, 0, 2, 0x80]);
    }
}
