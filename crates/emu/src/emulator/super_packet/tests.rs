use bakeoff_core::packet::Ecn;

use super::*;

const PAYLOAD: usize = 1_000;

/// A TCP packet with this payload, split by the kernel's wish into segments of [`PAYLOAD`] bytes.
fn tcp(is_v6: bool, payload: usize, flags: u8) -> Vec<u8> {
    let ip = if is_v6 { 40 } else { 20 };
    let mut packet = vec![0; ip + 32 + payload];
    let length = packet.len();
    if is_v6 {
        packet[0] = 0x60;
        packet[6] = 6;
        packet[4..6].copy_from_slice(&((length - 40) as u16).to_be_bytes());
    } else {
        packet[0] = 0x45;
        packet[9] = 6;
        packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        packet[4..6].copy_from_slice(&0xffff_u16.to_be_bytes());
    }
    packet[ip + 4..ip + 8].copy_from_slice(&(u32::MAX - 500).to_be_bytes());
    packet[ip + 12] = 8 << 4;
    packet[ip + FLAGS] = flags;
    for (index, byte) in packet[ip + 32..].iter_mut().enumerate() {
        *byte = (index / PAYLOAD) as u8;
    }
    packet
}

fn with_vnet(packet: &[u8], kind: u8) -> Vec<u8> {
    let mut read = vec![NEEDS_CHECKSUM, kind, 0, 0, 0, 0, 0, 0, 0, 0];
    read[4..6].copy_from_slice(&(PAYLOAD as u16).to_ne_bytes());
    read.extend_from_slice(packet);
    read
}

fn emitted(whole: &SuperPacket, segments: Range<u16>, ecn: Ecn) -> Vec<u8> {
    let mut scratch = SCRATCH;
    whole.emit(segments, ecn.bits(), &mut scratch, |parts| parts.iter().flat_map(|part| part.to_vec()).collect())
}

fn sequence(packet: &[u8], transport_at: usize) -> u32 {
    u32::from_be_bytes(std::array::from_fn(|index| packet[transport_at + SEQUENCE + index]))
}

#[test]
fn a_super_packet_falls_into_segments() {
    for (is_v6, kind) in [(false, GSO_TCPV4), (true, GSO_TCPV6)] {
        let whole = SuperPacket::read(&with_vnet(&tcp(is_v6, 2_500, FIN | PSH | CWR), kind)).unwrap();
        let transport_at = whole.headers.transport_at;
        assert_eq!(whole.segments(), 3);
        for (segment, payload) in [(0, 1_000), (1, 1_000), (2, 500)] {
            let out = emitted(&whole, segment..segment + 1, Ecn::NotEct);
            let packet = &out[VNET_BYTES..];
            assert_eq!(packet.len(), transport_at + 32 + payload);
            assert_eq!(whole.size(segment), Bytes::new(packet.len() as u64));
            assert!(packet[transport_at + 32..].iter().all(|byte| *byte == segment as u8));
            let start = (u32::MAX - 500).wrapping_add(u32::from(segment) * 1_000);
            assert_eq!(sequence(packet, transport_at), start, "sequence numbers go on, also past the largest");
            let flags = packet[transport_at + FLAGS];
            assert_eq!(flags & (FIN | PSH) != 0, segment == 2, "only the last segment ends the stream");
            assert_eq!(flags & CWR != 0, segment == 0, "only the first says that the window was reduced");
            assert_eq!(out[..2], [NEEDS_CHECKSUM, GSO_NONE]);
        }
    }
}

#[test]
fn identifications_go_on() {
    let whole = SuperPacket::read(&with_vnet(&tcp(false, 2_500, 0), GSO_TCPV4)).unwrap();
    let identification = |segment| super::super::headers::word(&emitted(&whole, segment..segment + 1, Ecn::NotEct), 14);
    assert_eq!([identification(0), identification(1)], [0xffff, 0]);
}

#[test]
fn neighbours_are_put_together_again() {
    let packet = tcp(false, 2_500, PSH);
    let whole = SuperPacket::read(&with_vnet(&packet, GSO_TCPV4)).unwrap();
    let out = emitted(&whole, 0..2, Ecn::Ce);
    assert_eq!(out[1], GSO_TCPV4);
    assert_eq!(out[VNET_BYTES + 52..], packet[52..2_052]);
    assert_eq!(out[VNET_BYTES + 1] & 3, 3, "the mark is in the header");
    let all = emitted(&whole, 0..3, Ecn::NotEct);
    assert_eq!(all[VNET_BYTES + 20 + FLAGS] & PSH, PSH);
    assert_eq!(all.len(), VNET_BYTES + packet.len());
}

#[test]
fn a_single_packet_passes_unchanged_but_for_its_mark() {
    let mut packet = tcp(false, 700, PSH);
    packet[1] = 2;
    let whole = SuperPacket::read(&with_vnet(&packet, GSO_NONE)).unwrap();
    assert_eq!(whole.segments(), 1);
    let out = emitted(&whole, 0..1, Ecn::Ce);
    assert_eq!(out[VNET_BYTES + 1], 3);
    assert_eq!(out[VNET_BYTES + 12..], packet[12..], "nothing behind the IP checksum changes");
}

#[test]
fn the_log_gets_the_header_of_the_segment() {
    let whole = SuperPacket::read(&with_vnet(&tcp(false, 2_500, PSH), GSO_TCPV4)).unwrap();
    let mut room = [0; 28];
    whole.transport(1, &mut room);
    assert_eq!(sequence(&room, 0), (u32::MAX - 500).wrapping_add(1_000));
    assert_eq!(room[FLAGS] & PSH, 0);
}

#[test]
fn what_is_no_packet_is_not_taken() {
    assert!(SuperPacket::read(&[0; VNET_BYTES + 20]).is_none());
    assert!(SuperPacket::read(&[0x45; 5]).is_none());
}

#[test]
fn what_goes_out_as_several_segments_says_of_which_kind() {
    for (is_v6, kind) in [(false, GSO_TCPV4), (true, GSO_TCPV6)] {
        let whole = SuperPacket::read(&with_vnet(&tcp(is_v6, 2_500, 0), kind)).unwrap();
        assert_eq!(emitted(&whole, 0..2, Ecn::NotEct)[1], kind);
        assert_eq!(emitted(&whole, 0..1, Ecn::NotEct)[1], GSO_NONE);
    }
}

#[test]
fn what_is_no_tcp_or_says_no_size_stays_whole() {
    let mut read = with_vnet(&tcp(false, 2_500, 0), GSO_TCPV4);
    read[4..6].fill(0);
    assert_eq!(SuperPacket::read(&read).unwrap().segments(), 1);
    let mut udp = tcp(false, 2_500, 0);
    udp[9] = 17;
    assert_eq!(SuperPacket::read(&with_vnet(&udp, GSO_TCPV4)).unwrap().segments(), 1);
}
