//! How long packets take at a rate, remembered from one to the next.

use crate::units::{Bytes, Duration, Rate};

/// The time that a packet takes ([`Rate::time_for`]), which is only worked out again when size or rate have changed:
/// they seldom do, and a division takes longer than anything else that is done per packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransmissionTime {
    rate: Rate,
    size: Bytes,
    time: Duration,
}

impl TransmissionTime {
    pub(crate) const fn new() -> Self {
        let (rate, size) = (Rate::from_bits_per_second(0), Bytes::ZERO);
        Self { rate, size, time: rate.time_for(size) }
    }

    /// That of `size` at `rate`.
    #[inline]
    pub(crate) fn of(&mut self, size: Bytes, rate: Rate) -> Duration {
        if (self.rate, self.size) != (rate, size) {
            *self = Self { rate, size, time: rate.time_for(size) };
        }
        self.time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_that_of_the_packet_at_hand() {
        let mut remembered = TransmissionTime::new();
        let sizes = [0, 0, 1_500, 1_500, 64].map(Bytes::new);
        let rates = [0, 12_000_000, 12_000_000, 8_000].map(Rate::from_bits_per_second);
        for (size, rate) in sizes.into_iter().flat_map(|size| rates.map(|rate| (size, rate))) {
            assert_eq!(remembered.of(size, rate), rate.time_for(size));
        }
    }
}
