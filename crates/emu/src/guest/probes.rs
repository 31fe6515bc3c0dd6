//! Probes: requests and answers over UDP, sent by threads that only block. The tables read from the log when they came.

use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::mpsc::Sender as Channel;
use std::thread;

use bakeoff_core::scenario::ProbeConfig;
use bakeoff_core::units::{Duration, Instant};

use super::flows::{End, News, ends};
use super::{Context, GuestError};
use crate::guest::network::Network;
use crate::job::Job;
use crate::layout::Layout;
use crate::log::{ANSWERER_PORT, ASKER_PORT, IP_UDP_BYTES};
use crate::sys;

/// Opens both ends of every probe; they tell through `news` if they fail.
pub(super) fn open(
    job: &Job,
    layout: &Layout,
    network: &Network,
    run_start: Duration,
    news: &Channel<News>,
) -> Result<(), GuestError> {
    for (index, (config, placed)) in job.scenario.probes.iter().zip(&layout.probes).enumerate() {
        let ports = [ASKER_PORT, ANSWERER_PORT].map(|port| port + index as u16);
        let [asker, answerer] = ends(layout, placed.pair, config.direction, ports);
        let connect = |from: End, to: End| {
            network.enter(from.node)?;
            let tos = job.scenario.probe_packet(index).ecn.bits();
            connect(from, to, tos).context(|| format!("opening a socket of probe {}", index + 1))
        };
        answer(connect(answerer, asker)?, packet(config), index, news.clone());
        let times = Times {
            first: run_start + job.scenario.probe_start(index).since(Instant::ZERO),
            stop: run_start + job.scenario.probe_stop(index).since(Instant::ZERO),
            interval: Duration::from_nanos(config.interval_ns),
        };
        ask(connect(asker, answerer)?, packet(config), index, times, news.clone());
    }
    Ok(())
}

/// When requests are sent, on the monotonic clock.
#[derive(Clone, Copy)]
struct Times {
    first: Duration,
    stop: Duration,
    interval: Duration,
}

/// A connected socket counts its packets in the identification of the IP header, by which the log tells them apart.
fn connect(from: End, to: End, tos: u8) -> std::io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, from.port))?;
    socket.connect((Ipv4Addr::from(to.address), to.port))?;
    sys::set_type_of_service(socket.as_fd(), tos)?;
    Ok(socket)
}

/// Room for the payload of a packet, whose first bytes are the number of the request.
fn packet(config: &ProbeConfig) -> Vec<u8> {
    vec![0; config.size_bytes as usize - IP_UDP_BYTES]
}

fn tell(news: &Channel<News>, index: usize, what: &str, done: std::io::Result<()>) {
    if let Err(error) = done {
        let what = format!("{what} of probe {}", index + 1);
        let _ = news.send(Err(GuestError::System { what, error }));
    }
}

#[expect(clippy::disallowed_methods, reason = "a thread that only blocks is the plainest asker")]
fn ask(socket: UdpSocket, mut packet: Vec<u8>, index: usize, times: Times, news: Channel<News>) {
    thread::spawn(move || {
        let mut time = times.first;
        for number in 0_u64.. {
            if time >= times.stop {
                break;
            }
            packet[..size_of_val(&number)].copy_from_slice(&number.to_be_bytes());
            sys::sleep_until(time);
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
