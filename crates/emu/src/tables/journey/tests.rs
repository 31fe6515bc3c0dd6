#![allow(clippy::unwrap_used, reason = "a test may fail")]

use super::*;
use crate::log::{Protocol, TRANSPORT_BYTES};

const ENTRY: Point = Point { tap: 0, is_outgoing: false };
const LINK: Point = Point { tap: 1, is_outgoing: true };
const EXIT: Point = Point { tap: 2, is_outgoing: true };
const HOP: HopPoints = HopPoints { hop: 0, entry: ENTRY, link: LINK, exit: EXIT };
const END: Instant = Instant::from_nanos(1_000_000_000);

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn record(point: Point, nanos: u64, identification: u16, tos: u8) -> PacketRecord {
    PacketRecord {
        time: at(nanos),
        point,
        protocol: Protocol::Tcp,
        tos,
        identification,
        size: 1500,
        source_port: 10_000,
        destination_port: 40_000,
        transport: [0; TRANSPORT_BYTES],
    }
}

/// Journeys of packets that are given by identification and the times at the three points.
fn journeys(packets: &[(u16, [Option<u64>; 3])]) -> Journeys {
    let mut journeys = Journeys::new(&[HOP]);
    let times = |index: usize| packets.iter().filter_map(move |(id, times)| Some((times[index]?, *id)));
    for (index, point) in [ENTRY, LINK, EXIT].into_iter().enumerate() {
        let mut seen: Vec<_> = times(index).collect();
        seen.sort_by_key(|(nanos, _)| *nanos);
        for (nanos, id) in seen {
            journeys.add(&record(point, nanos, id, 0));
        }
    }
    journeys.match_up().unwrap();
    journeys
}

#[test]
fn a_packet_arrives_is_dropped_is_lost_or_is_still_inside() {
    let found = journeys(&[
        (1, [Some(10), Some(20), Some(50)]),
        (2, [Some(11), None, None]),
        (3, [Some(12), Some(30), None]),
        (4, [Some(13), Some(40), Some(2_000_000_000)]),
        (5, [Some(14), Some(1_500_000_000), Some(2_500_000_000)]),
        (6, [Some(1_100_000_000), Some(1_600_000_000), None]),
    ]);
    let passages: Vec<_> = (0..6).map(|number| found.passage(HOP, number, END).2).collect();
    let expected = [
        Passage::Out(at(50)),
        Passage::DroppedByQueue,
        Passage::LostOnWire,
        Passage::Inside,
        Passage::Inside,
        Passage::Absent,
    ];
    assert_eq!(passages, expected);
    assert_eq!(found.passage(HOP, 0, END), (at(10), at(20), Passage::Out(at(50))));
    assert_eq!(found.arrivals(END), [(at(50), 0)]);
}

#[test]
fn a_hop_without_a_queue_loses_on_its_wire() {
    let hop = HopPoints { link: ENTRY, ..HOP };
    let mut found = Journeys::new(&[hop]);
    found.add(&record(ENTRY, 10, 1, 0));
    found.match_up().unwrap();
    assert_eq!(found.passage(hop, 0, END), (at(10), at(10), Passage::LostOnWire));
}

#[test]
fn what_a_hop_drops_never_comes_to_the_next() {
    let point = |tap| Point { tap, is_outgoing: true };
    let next = HopPoints { hop: 1, entry: EXIT, link: point(3), exit: point(4) };
    let mut found = Journeys::new(&[HOP, next]);
    found.add(&record(ENTRY, 10, 1, 0));
    found.add(&record(LINK, 20, 1, 0));
    found.match_up().unwrap();
    assert_eq!(found.passage(HOP, 0, END).2, Passage::LostOnWire);
    assert_eq!(found.passage(next, 0, END).2, Passage::Absent);
}

#[test]
fn packets_that_overtake_each_other_are_told_apart() {
    let found = journeys(&[
        (1, [Some(10), Some(40), Some(90)]),
        (2, [Some(11), Some(20), Some(70)]),
        (3, [Some(12), Some(30), Some(80)]),
    ]);
    let exits: Vec<_> = (0..3).map(|number| found.passage(HOP, number, END).2).collect();
    assert_eq!(exits, [Passage::Out(at(90)), Passage::Out(at(70)), Passage::Out(at(80))]);
    assert_eq!(found.arrivals(END), [(at(70), 1), (at(80), 2), (at(90), 0)]);
}

#[test]
fn identifications_that_come_round_again_are_told_apart() {
    let count = WINDOW as u64 + 1000;
    let is_dropped = |number: u64| number % 100 == 7;
    let packets: Vec<_> = (0..count)
        .map(|number| {
            let passes = |time| if is_dropped(number) { None } else { Some(time) };
            (number as u16, [Some(100 * number), passes(100 * number + 10), passes(100 * number + 5_010)])
        })
        .collect();
    let found = journeys(&packets);
    for number in 0..count {
        let (_, link, passage) = found.passage(HOP, number as usize, END);
        if is_dropped(number) {
            assert_eq!(passage, Passage::DroppedByQueue, "packet {number}");
        } else {
            assert_eq!(
                (link, passage),
                (at(100 * number + 10), Passage::Out(at(100 * number + 5_010))),
                "packet {number}"
            );
        }
    }
}

#[test]
fn a_packet_that_nobody_sent_is_an_error() {
    let mut found = Journeys::new(&[HOP]);
    found.add(&record(ENTRY, 10, 1, 0));
    found.add(&record(LINK, 20, 2, 0));
    assert!(matches!(found.match_up(), Err(LogError::Unsent { tap: 1, time }) if time.as_nanos() == 20));
}

#[test]
fn a_packet_is_not_seen_before_it_was_sent() {
    let mut found = Journeys::new(&[HOP]);
    found.add(&record(ENTRY, 10, 1, 0));
    found.add(&record(LINK, 9, 1, 0));
    assert!(found.match_up().is_err());
}

#[test]
fn points_of_other_packets_are_passed_over() {
    let mut found = Journeys::new(&[HOP]);
    found.add(&record(Point { tap: 9, is_outgoing: true }, 10, 1, 0));
    found.match_up().unwrap();
    assert!(found.sent.is_empty());
}

#[test]
fn a_mark_is_what_a_packet_arrives_with() {
    let mut found = Journeys::new(&[HOP]);
    for (point, nanos, tos) in [(ENTRY, 10, 2), (LINK, 20, 3), (EXIT, 30, 3)] {
        found.add(&record(point, nanos, 1, tos));
    }
    found.add(&record(ENTRY, 11, 2, 1));
    found.match_up().unwrap();
    assert_eq!(found.packet(FlowId(0), true, 0).ecn, Ecn::Ce);
    assert_eq!(found.packet(FlowId(0), true, 1).ecn, Ecn::Ect1);
}

#[test]
fn a_packet_that_has_not_left_its_queue_has_not_waited() {
    assert_eq!(sojourn(at(10), at(30)), Duration::from_nanos(20));
    assert_eq!(sojourn(at(10), Instant::FAR_FUTURE), Duration::ZERO);
}

#[test]
fn what_has_not_left_its_queue_at_the_end_is_inside_though_it_gets_lost_later() {
    let found = journeys(&[(1, [Some(10), Some(1_500_000_000), None])]);
    assert_eq!(found.passage(HOP, 0, END).2, Passage::Inside);
}

#[test]
fn of_two_with_one_identification_the_later_one_is_taken_for_what_comes_out() {
    let found = journeys(&[
        (1, [Some(10), None, None]),
        (1, [Some(20), Some(61), Some(71)]),
        (2, [Some(30), Some(60), Some(70)]),
    ]);
    // The third overtook the second.
    assert_eq!(
        (0..3).map(|number| found.passage(HOP, number, END).2).collect::<Vec<_>>(),
        [Passage::DroppedByQueue, Passage::Out(at(71)), Passage::Out(at(70)),]
    );
}

#[test]
fn what_arrives_at_the_end_has_arrived() {
    let end = END.as_nanos();
    let found = journeys(&[(1, [Some(10), Some(20), Some(end)]), (2, [Some(11), Some(21), Some(end + 1)])]);
    assert_eq!(found.arrivals(END), [(END, 0)]);
}

#[test]
fn what_happens_at_the_end_has_happened() {
    let end = END.as_nanos();
    let found = journeys(&[
        (1, [Some(10), Some(20), Some(end)]),
        (2, [Some(11), Some(end), None]),
        (3, [Some(end), Some(end + 1), Some(end + 2)]),
    ]);
    assert_eq!(
        (0..3).map(|number| found.passage(HOP, number, END).2).collect::<Vec<_>>(),
        [Passage::Out(END), Passage::LostOnWire, Passage::Inside]
    );
}

#[test]
fn each_of_two_hops_has_its_own_times_and_marks() {
    let point = |tap| Point { tap, is_outgoing: true };
    let next = HopPoints { hop: 1, entry: EXIT, link: point(3), exit: point(4) };
    let mut found = Journeys::new(&[HOP, next]);
    for (point, nanos, tos) in [(ENTRY, 10, 2), (LINK, 20, 2), (EXIT, 30, 2), (next.link, 40, 3), (next.exit, 50, 3)] {
        found.add(&record(point, nanos, 1, tos));
    }
    found.match_up().unwrap();
    assert_eq!(found.passage(HOP, 0, END), (at(10), at(20), Passage::Out(at(30))));
    assert_eq!(found.passage(next, 0, END), (at(30), at(40), Passage::Out(at(50))));
    assert_eq!([HOP, next].map(|hop| found.on_marked(hop, 0, END)), [false, true]);
    assert_eq!([EXIT, next.exit].map(|point| found.ecn_at(point, 0)), [Some(Ecn::Ect0), Some(Ecn::Ce)]);
    assert_eq!((found.packet(FlowId(0), true, 0).ecn, found.arrivals(END)), (Ecn::Ce, vec![(at(50), 0)]));
}

#[test]
fn a_queue_has_marked_what_left_it_with_a_mark_and_came_without_one_until_the_end() {
    for (entry, link, left, is_marked) in [
        (2, 3, 20, true),
        (2, 2, 20, false),
        (3, 3, 20, false),
        (2, 3, END.as_nanos(), true),
        (2, 3, END.as_nanos() + 1, false),
    ] {
        let mut found = Journeys::new(&[HOP]);
        found.add(&record(ENTRY, 10, 1, entry));
        found.add(&record(LINK, left, 1, link));
        found.match_up().unwrap();
        assert_eq!(found.on_marked(HOP, 0, END), is_marked, "{entry} {link} {left}");
    }
}
