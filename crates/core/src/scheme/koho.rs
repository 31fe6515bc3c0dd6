//! KohoCC and CalibratedKoho: a fixed step up or down with every ack, by whether the packet met a queue.
//!
//! **What it is.** Half of the shortest round trip stands for the one-way delay without a queue. An ack whose packet
//! took little more adds a fraction of a packet to the window, any other takes it away. KohoCC allows 45 % more and has
//! at most 100 packets; CalibratedKoho, whose constants were found by a search on calibrated emulators, allows 5.5 ms
//! more, has at most 10 000 packets, and lets a lost packet cost another 0.05.
//!
//! **Source.** `greghill/koho_cc`, `datagrump/controller.cc`, at the commits that Pantheon ran: f0f2e693 (KohoCC) and
//! 3cb73c0 (CalibratedKoho).
//!
//! **Parameters.** None: the two schemes are two sets of constants.
//!
//! **Deviations.** The originals send datagrams with 1424 bytes (Pantheon: 1388) of payload once, and count as in
//! flight what was sent after the latest packet acknowledged; here packets are those of our stream, lost ones are sent
//! again, and they leave the window when our transport declares them lost. An ack that is lost is a lost packet to the
//! originals, which have no step for it; ours tell with the next one what it told, for one step. After 50 ms of silence
//! the originals send one packet more; here that is left to the transport's probes and timeouts. As there, every packet
//! is acknowledged, clocks tick in milliseconds, nothing is paced, and neither timeouts nor ECN are looked at.
//!
//! **How it is validated.** Steps, bounds and the cost of overtaken packets here; the queue that each aims at and the
//! ceiling of 100 packets in the simulator's behaviour tests; beside the programs over four links
//! (`docs/originals.md`), and beside their code, which has the same windows after each of the same events
//! (`docs/event-by-event.md`).

use std::collections::VecDeque;

use super::{Ack, Congestion, Feedback, Scheme, Sent, Setup, Timeout};
use crate::info::{Info, Quantity};
use crate::units::{Duration, Instant};

const TELEMETRY: &[Quantity] = &[
    Quantity { name: "window", unit: "packets", doc: "window with its fraction" },
    Quantity { name: "queueing_delay", unit: "ms", doc: "one-way delay of the last packet above the shortest" },
];

/// KohoCC.
pub(super) const KOHO_CC: Info = Info {
    name: "koho_cc",
    title: "KohoCC",
    source: "greghill/koho_cc at f0f2e693, datagrump/controller.cc",
    parameters: &[],
    telemetry: TELEMETRY,
};

/// CalibratedKoho.
pub(super) const CALIBRATED_KOHO: Info = Info {
    name: "calibrated_koho",
    title: "CalibratedKoho",
    source: "greghill/koho_cc at 3cb73c0, datagrump/controller.cc",
    ..KOHO_CC
};

/// Makes a KohoCC for a flow that starts.
pub(super) fn new_koho_cc(_setup: Setup) -> Box<dyn Scheme> {
    Box::new(Koho::new(Constants { step: 0.25, slack: Slack::Share(0.45), most: 100.0, loss: 0.0 }))
}

/// Makes a CalibratedKoho for a flow that starts.
pub(super) fn new_calibrated_koho(_setup: Setup) -> Box<dyn Scheme> {
    Box::new(Koho::new(Constants { step: 0.127_221, slack: Slack::Millis(5.487_712), most: 10_000.0, loss: 0.05 }))
}

/// First and smallest window, packets.
const FIRST_WINDOW: f64 = 16.0;
const LEAST_WINDOW: f64 = 2.0;
/// A packet is lost if one is acknowledged that was sent more than this later, milliseconds (`MAX_REORDER_MS`).
const REORDERING: u64 = 5;

/// How much queueing delay is no congestion.
#[derive(Clone, Copy, Debug)]
enum Slack {
    /// A share of the base delay.
    Share(f64),
    Millis(f64),
}

#[derive(Clone, Copy, Debug)]
struct Constants {
    /// Packets per ack.
    step: f64,
    slack: Slack,
    most: f64,
    /// Packets that a lost one costs.
    loss: f64,
}

#[derive(Debug)]
struct Koho {
    constants: Constants,
    window: f64,
    /// Milliseconds.
    min_one_way: Option<u64>,
    min_rtt: Option<u64>,
    queueing: u64,
    /// When the packets left that are neither acknowledged nor overtaken, in order.
    sent: VecDeque<Instant>,
}

impl Koho {
    fn new(constants: Constants) -> Self {
        Self { constants, window: FIRST_WINDOW, min_one_way: None, min_rtt: None, queueing: 0, sent: VecDeque::new() }
    }

    fn forget_overtaken(&mut self, acked: Instant) {
        while self.sent.front().is_some_and(|front| front.as_millis() + REORDERING < acked.as_millis()) {
            self.sent.pop_front();
            self.window -= self.constants.loss;
        }
    }

    fn forget_acknowledged(&mut self, acked: Instant) {
        if let Ok(index) = self.sent.binary_search(&acked) {
            self.sent.remove(index);
        }
    }

    /// The step that an ack is worth.
    fn step(&mut self, acked: Instant, one_way_delay: Duration, now: Instant) -> f64 {
        // The receiver's clock ticks in milliseconds too, so a delay is the difference of two whole numbers.
        let one_way = (acked + one_way_delay).as_millis() - acked.as_millis();
        let rtt = now.as_millis() - acked.as_millis();
        let least = self.min_one_way.map_or(one_way, |least| least.min(one_way));
        let min_rtt = self.min_rtt.map_or(rtt, |least| least.min(rtt));
        (self.min_one_way, self.min_rtt) = (Some(least), Some(min_rtt));
        self.queueing = one_way - least;
        let base = min_rtt as f64 / 2.0;
        let allowed = match self.constants.slack {
            Slack::Share(share) => (1.0 + share) * base,
            Slack::Millis(millis) => base + millis,
        };
        if self.queueing as f64 + base > allowed { -self.constants.step } else { self.constants.step }
    }
}

impl Scheme for Koho {
    fn cwnd(&self) -> u32 {
        self.window as u32
    }

    fn feedback(&self) -> Feedback {
        Feedback::EveryPacket
    }

    fn on_sent(&mut self, sent: &Sent) -> u64 {
        self.sent.push_back(sent.now);
        sent.now.as_nanos()
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let Some(acked) = ack.packets.iter().max().copied().map(Instant::from_nanos) else { return };
        self.forget_overtaken(acked);
        for packet in ack.packets {
            self.forget_acknowledged(Instant::from_nanos(*packet));
        }
        if let Some(delay) = ack.one_way_delay {
            self.window += self.step(acked, delay, ack.now);
        }
        self.window = self.window.clamp(LEAST_WINDOW, self.constants.most);
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report("window", self.window);
        report("queueing_delay", self.queueing as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::RandomStream;
    use crate::scheme::Parameters;
    use crate::scheme::window::ack;
    use crate::units::Bytes;

    type New = fn(Setup) -> Box<dyn Scheme>;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn make(new: New) -> Box<dyn Scheme> {
        new(Setup {
            mss: Bytes::new(1_388),
            mss_cache: Bytes::new(1_388),
            packet_size: Bytes::new(1_416),
            is_paced: false,
            random: RandomStream::new(1, "scheme"),
            parameters: Parameters::default(),
        })
    }

    fn send(koho: &mut dyn Scheme, millis: u64) -> u64 {
        let sent =
            Sent { now: at(millis), size: Bytes::new(1_388), is_retransmission: false, in_flight: 1, delivered: 0 };
        koho.on_sent(&sent)
    }

    /// The ack of a packet sent at `millis` that waited for `queueing` on a path of 50 ms each way.
    fn acknowledge(koho: &mut dyn Scheme, millis: u64, queueing: u64) {
        acknowledge_over(koho, 50, millis, queueing);
    }

    /// The same on a path of so many milliseconds each way.
    fn acknowledge_over(koho: &mut dyn Scheme, base: u64, millis: u64, queueing: u64) {
        let packets = [at(millis).as_nanos()];
        let one_way_delay = Some(Duration::from_millis(base + queueing));
        koho.on_ack(&Ack { now: at(millis + 2 * base + queueing), one_way_delay, packets: &packets, ..ack(1) });
    }

    fn window(koho: &dyn Scheme) -> f64 {
        let mut found = 0.0;
        koho.telemetry(&mut |name, value| {
            if name == "window" {
                found = value;
            }
        });
        found
    }

    #[test]
    fn an_ack_adds_or_takes_a_step_by_the_queueing_delay() {
        // 45 % of 50 ms are 22.5 ms.
        let cases: [(New, f64, u64); 2] = [(new_koho_cc, 0.25, 22), (new_calibrated_koho, 0.127_221, 5)];
        for (new, step, most) in cases {
            let mut koho = make(new);
            acknowledge(&mut *koho, 0, 0);
            assert!((window(&*koho) - (FIRST_WINDOW + step)).abs() < 1e-9);
            acknowledge(&mut *koho, 10, most);
            assert!((window(&*koho) - (FIRST_WINDOW + 2.0 * step)).abs() < 1e-9, "{most} ms are allowed");
            acknowledge(&mut *koho, 20, most + 1);
            assert!((window(&*koho) - (FIRST_WINDOW + step)).abs() < 1e-9);
        }
        // 9 ms are 45 % of 20 ms, and allowed.
        let mut koho = make(new_koho_cc);
        for (millis, queueing, expected) in [(0, 0, 16.25), (10, 9, 16.5), (20, 10, 16.25)] {
            acknowledge_over(&mut *koho, 20, millis, queueing);
            assert!((window(&*koho) - expected).abs() < 1e-9, "{queueing} ms: {}", window(&*koho));
        }
    }

    #[test]
    fn the_windows_are_those_that_the_programs_have() {
        // When packets left; which one arrived when, when its ack came, and the window of either program then,
        // milliseconds.
        let sent = [0, 0, 2, 4, 8, 8, 16, 20, 30, 40, 41];
        let events = [
            (0, 20, 40, 16.25, 16.127_221),
            (2, 23, 43, 16.5, 16.254_442),
            (5, 30, 49, 16.75, 16.331_663),
            (6, 42, 61, 17.0, 16.104_442),
            (7, 50, 72, 16.75, 15.977_221),
            (9, 64, 84, 17.0, 16.054_442),
        ];
        let programs: [New; 2] = [new_koho_cc, new_calibrated_koho];
        for (program, new) in programs.into_iter().enumerate() {
            let mut koho = make(new);
            for millis in sent {
                send(&mut *koho, millis);
            }
            for (packet, received, acked, of_koho_cc, of_calibrated) in events {
                let packets = [at(sent[packet]).as_nanos()];
                let one_way_delay = Some(Duration::from_millis(received - sent[packet]));
                koho.on_ack(&Ack { now: at(acked), one_way_delay, packets: &packets, ..ack(1) });
                let expected = [of_koho_cc, of_calibrated][program];
                assert!((window(&*koho) - expected).abs() < 1e-6, "{packet}: {}, not {expected}", window(&*koho));
            }
        }
    }

    #[test]
    fn the_window_keeps_its_bounds() {
        for (new, most) in [(new_koho_cc as New, 100), (new_calibrated_koho, 10_000)] {
            let mut koho = make(new);
            (0..100_000).for_each(|n| acknowledge(&mut *koho, n, 0));
            assert_eq!(koho.cwnd(), most);
            (0..100_000).for_each(|n| acknowledge(&mut *koho, 100_000 + n, 500));
            assert_eq!(koho.cwnd(), 2);
        }
    }

    #[test]
    fn a_packet_overtaken_by_more_than_five_milliseconds_costs_the_calibrated_one() {
        for (new, cost) in [(new_koho_cc as New, 0.0), (new_calibrated_koho, 0.05)] {
            let mut koho = make(new);
            for millis in [0, 0, 1, 6, 7] {
                send(&mut *koho, millis);
            }
            acknowledge(&mut *koho, 0, 0);
            let before = window(&*koho);
            let step = before - FIRST_WINDOW;
            acknowledge(&mut *koho, 6, 0);
            // The other packet of the same instant is gone; that of the next millisecond may still come.
            assert!((window(&*koho) - (before + step - cost)).abs() < 1e-9, "{}", window(&*koho));
            acknowledge(&mut *koho, 7, 0);
            assert!((window(&*koho) - (before + 2.0 * (step - cost))).abs() < 1e-9);
        }
    }
}
