use super::*;
use crate::queue::tests::packet_of;
use crate::units::Instant;

/// In ticks and bytes.
const LAW: Law = Law { target: 100, interval: 1_000, least_backlog: Bytes::new(1_014), ecn: false, threshold: None };

fn arrived(tick: u64) -> Box<Packet<()>> {
    let mut packet = packet_of(0, 0, 1_000);
    packet.enqueued = Instant::from_nanos(tick << TICK_SHIFT);
    packet
}

/// Whether a packet that arrived at the start should be dropped while so many bytes wait in its queue and in
/// others.
fn should_drop(control: &mut Control, now: u64, [own, others]: [u64; 2]) -> bool {
    let (mut queue, mut verdicts) = (PacketQueue::default(), Verdicts::default());
    queue.push(packet_of(0, 1, own));
    let others = Bytes::new(others);
    let supply = Supply { law: &LAW, queue: &mut queue, others, now, verdicts: &mut verdicts };
    control.should_drop(Some(&arrived(0)), &supply)
}

#[test]
fn a_control_soon_after_the_last_goes_on_at_its_rate() {
    let law = Law { target: 100, interval: 1_000, least_backlog: Bytes::ZERO, ecn: false, threshold: None };
    let mut control = Control { count: 20, last_count: 1, drop_next: 5_000, ..Control::default() };
    let (mut queue, mut verdicts) = (PacketQueue::<()>::default(), Verdicts::default());
    let mut start = |control: &mut Control, now| {
        control.start_dropping(&Supply {
            law: &law,
            queue: &mut queue,
            others: Bytes::ZERO,
            now,
            verdicts: &mut verdicts,
        });
        control.count
    };
    assert_eq!(start(&mut control, 6_000), 19);
    control = Control { count: 20, last_count: 1, drop_next: 5_000, ..Control::default() };
    assert_eq!(start(&mut control, 21_001), 1, "sixteen intervals later all is forgotten");
    control = Control { count: 6, ..Control::default() };
    assert_eq!(start(&mut control, 900), 1, "there was no control yet, only a full queue");
}

#[test]
fn the_square_root_is_that_of_the_kernel() {
    let mut control = Control { rec_inv_sqrt: u16::MAX, ..Control::default() };
    let roots: Vec<_> = (2..=5)
        .map(|count| {
            control.count = count;
            control.newton_step();
            control.rec_inv_sqrt
        })
        .collect();
    // By hand from codel_Newton_step: x (3 - n x^2) / 2 with x = 65535/65536.
    assert_eq!(roots, [32_769, 36_864, 31_968, 28_935]);
}

#[test]
fn the_delay_has_to_reach_the_target_and_to_stay_there_for_more_than_an_interval() {
    let mut control = Control::default();
    let much = [5_000, 0];
    assert!(!should_drop(&mut control, 99, much));
    assert_eq!(control.first_above, None);
    assert!(!should_drop(&mut control, 100, much));
    assert_eq!(control.first_above, Some(1_100));
    assert!(!should_drop(&mut control, 1_100, much));
    assert!(should_drop(&mut control, 1_101, much));
}

#[test]
fn a_backlog_of_more_than_one_frame_in_all_queues_is_a_standing_queue() {
    for (waiting, is_standing) in [([1_014, 0], false), ([1_015, 0], true), ([500, 514], false), ([500, 515], true)] {
        let mut control = Control::default();
        should_drop(&mut control, 200, waiting);
        assert_eq!(control.first_above.is_some(), is_standing, "{waiting:?}");
    }
}

#[test]
fn a_line_that_is_found_empty_has_no_delay_above_the_target() {
    let mut control = Control { first_above: Some(50), is_dropping: true, ..Control::default() };
    let (mut queue, mut verdicts) = (PacketQueue::<()>::default(), Verdicts::default());
    let supply =
        Supply { law: &LAW, queue: &mut queue, others: Bytes::new(5_000), now: 2_000, verdicts: &mut verdicts };
    assert!(control.dequeue(supply).is_none());
    assert_eq!((control.first_above, control.is_dropping), (None, false));
}

#[test]
fn a_control_begins_with_the_first_drop_even_if_that_was_the_last_packet() {
    let mut control = Control { first_above: Some(1_000), ..Control::default() };
    let (mut queue, mut verdicts) = (PacketQueue::default(), Verdicts::default());
    queue.push(arrived(0));
    let supply =
        Supply { law: &LAW, queue: &mut queue, others: Bytes::new(5_000), now: 1_500, verdicts: &mut verdicts };
    assert!(control.dequeue(supply).is_none());
    assert_eq!((verdicts.drops(), control.is_dropping, control.count, control.drop_next), (1, true, 1, 2_499));
}

#[test]
fn at_most_256_packets_go_at_once_and_the_next_drop_is_planned_from_then() {
    let mut control = Control { first_above: Some(1_000), is_dropping: true, rec_inv_sqrt: 60, ..Control::default() };
    control.count = 1_200_000;
    let (mut queue, mut verdicts) = (PacketQueue::default(), Verdicts::default());
    (0..1_000).for_each(|_| queue.push(arrived(0)));
    let now = 1_000_000;
    let supply = Supply { law: &LAW, queue: &mut queue, others: Bytes::ZERO, now, verdicts: &mut verdicts };
    assert!(control.dequeue(supply).is_some());
    assert_eq!((verdicts.drops(), queue.packets()), (256, 743));
    assert!(control.is_dropping && control.drop_next == control.after(now, &LAW));
}
