//! Protobuf's wire format, as much of it as trees use.

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A field goes on beyond the end.
    #[error("the field at byte {0} ends beyond its message")]
    Cut(usize),
    /// A field is of no kind that there is.
    #[error("the field at byte {0} is of no known kind")]
    Kind(usize),
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Varint(u64),
    Double(f64),
    Bytes(&'a [u8]),
    /// Four bytes, which trees do not use.
    Other,
}

/// The fields of a message: number and value.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(count)?;
        let part = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(part)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn value(&mut self, wire: u64) -> Option<Value<'a>> {
        match wire {
            0 => self.varint().map(Value::Varint),
            1 => Some(Value::Double(f64::from_le_bytes(self.take(8)?.try_into().ok()?))),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                self.take(length).map(Value::Bytes)
            }
            _ => self.take(4).map(|_| Value::Other),
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        const FOUR_BYTES: u64 = 5;
        if self.at >= self.bytes.len() {
            return None;
        }
        let start = self.at;
        let Some(key) = self.varint() else {
            self.at = self.bytes.len();
            return Some(Err(WireError::Cut(start)));
        };
        let (number, wire) = (key >> 3, key & 7);
        if wire > 2 && wire != FOUR_BYTES {
            self.at = self.bytes.len();
            return Some(Err(WireError::Kind(start)));
        }
        let place = self.at;
        let Some(value) = self.value(wire) else {
            self.at = self.bytes.len();
            return Some(Err(WireError::Cut(place)));
        };
        Some(Ok((number, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_format_are_read() {
        // From protobuf's description of its encoding: 150 in field 1, and "testing" in field 2.
        let bytes = b"\x08\x96\x01\x12\x07testing\x1d\0\0\0\0";
        let fields: Result<Vec<_>, _> = Fields::of(bytes).collect();
        assert_eq!(fields, Ok(vec![(1, Value::Varint(150)), (2, Value::Bytes(b"testing")), (3, Value::Other)]));
    }

    #[test]
    fn what_is_cut_off_or_unknown_is_an_error_and_the_last_item() {
        for (bytes, error) in [
            (&b"\x12\x07test"[..], WireError::Cut(1)),
            (b"\x80", WireError::Cut(0)),
            (b"\x09\0\0", WireError::Cut(1)),
            (b"\x0b", WireError::Kind(0)),
            (b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", WireError::Cut(1)),
        ] {
            let items: Vec<_> = Fields::of(bytes).collect();
            assert_eq!(items, [Err(error)], "{bytes:?}");
        }
    }
}
