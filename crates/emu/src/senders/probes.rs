//! Probes: requests and answers over UDP, sent by threads that only block. The tables read from the log when they came.

use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::mpsc::Sender as Channel;
use std::thread;

use bakeoff_core::scenario::{ProbeConfig, ProbeKind};
use bakeoff_core::units::{Duration, Instant};

use super::{End, News, Stage, Start, ends};
use crate::error::{Context, RunError};
use crate::log::{ANSWERER_PORT, ASKER_PORT, IP_UDP_BYTES};
use crate::sys;

const ECHO_REQUEST: u8 = 8;

/// Opens both ends of every probe; they tell if they fail.
pub fn open(stage: Stage<'_>) -> Result<(), RunError> {
    for (index, config) in stage.scenario.probes.iter().enumerate() {
        let ports = [ASKER_PORT, ANSWERER_PORT].map(|port| port + index as u16);
        let [asker, answerer] = ends(stage.hosts.pair_of_probe(index), config.direction, ports);
        let connect = |from: End, to: End| {
            stage.hosts.enter(from.host)?;
            let tos = stage.scenario.probe_packet(index).ecn.bits();
            connect(config.kind, from, to, tos).context(|| format!("opening a socket of probe {}", index + 1))
        };
        if config.kind == ProbeKind::Udp {
            answer(connect(answerer, asker)?, packet(config), index, stage.news.clone());
        }
        let times = Times {
            run_start: stage.start.clone(),
            first: stage.scenario.probe_start(index),
            stop: stage.scenario.probe_stop(index),
            interval: config.interval,
        };
        let packet = packet(config);
        let payload = packet.len() - payload_size(config);
        ask(connect(asker, answerer)?, packet, payload, index, times, stage.news.clone());
    }
    Ok(())
}

/// When requests are sent.
struct Times {
    run_start: Start,
    first: Instant,
    stop: Instant,
    interval: Duration,
}

/// A connected socket counts its packets in the identification of the IP header, by which the log tells them apart.
fn connect(kind: ProbeKind, from: End, to: End, tos: u8) -> std::io::Result<UdpSocket> {
    let socket = match kind {
        ProbeKind::Udp => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, from.port))?,
        ProbeKind::Ping => sys::ping_socket(from.port)?.into(),
    };
    socket.connect((Ipv4Addr::from(to.host.address()), to.port))?;
    sys::set_type_of_service(socket.as_fd(), tos)?;
    Ok(socket)
}

fn payload_size(config: &ProbeConfig) -> usize {
    config.size.count() as usize - IP_UDP_BYTES
}

/// Room for what a socket is given of a packet.
fn packet(config: &ProbeConfig) -> Vec<u8> {
    let payload = vec![0; payload_size(config)];
    match config.kind {
        ProbeKind::Udp => payload,
        // The header of ICMP is as long as that of UDP; the kernel fills in checksum and identification.
        ProbeKind::Ping => [&[ECHO_REQUEST, 0, 0, 0, 0, 0, 0, 0], &payload[..]].concat(),
    }
}

fn tell(news: &Channel<News>, index: usize, what: &str, done: std::io::Result<()>) {
    if let Err(error) = done {
        let what = format!("{what} of probe {}", index + 1);
        let _ = news.send(Err(RunError::System { what, error }));
    }
}

#[expect(clippy::disallowed_methods, reason = "a thread that only blocks is the plainest asker")]
fn ask(socket: UdpSocket, mut packet: Vec<u8>, payload: usize, index: usize, times: Times, news: Channel<News>) {
    thread::spawn(move || {
        let clock = times.run_start.wait();
        let mut time = times.first;
        for number in 0_u64.. {
            if time >= times.stop {
                break;
            }
            // The payload begins with the number of the request.
            packet[payload..payload + size_of_val(&number)].copy_from_slice(&number.to_be_bytes());
            sys::sleep_until(clock.monotonic_at(time));
            tell(&news, index, "sending a request", socket.send(&packet).map(|_| ()));
            time += times.interval;
        }
        // A closed port would answer late answers with errors, which take room on the path.
        loop {
            thread::park();
        }
    });
}

#[expect(clippy::disallowed_methods, reason = "a thread that only blocks is the plainest answerer")]
fn answer(socket: UdpSocket, mut packet: Vec<u8>, index: usize, news: Channel<News>) {
    thread::spawn(move || {
        loop {
            let done = socket.recv(&mut packet).and_then(|length| socket.send(&packet[..length]));
            tell(&news, index, "answering a request", done.map(|_| ()));
        }
    });
}
