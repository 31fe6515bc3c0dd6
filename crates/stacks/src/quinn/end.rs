//! One end of a connection: quinn's endpoint and connection, driven by the world's time and datagrams.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time;

use bakeoff_core::packet::Ecn;
use bakeoff_core::transport::stack::{Outgoing, Stack, StackFailure, StackSetup, StackStats};
use bakeoff_core::units::{Bytes, Instant};
use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, Event,
    ServerConfig, Transmit,
};

use super::connection::{Reader, Writer};

/// What quinn's own driver asks for at a time (`MAX_TRANSMIT_SEGMENTS` in `quinn/src/connection.rs`).
const MAX_SEGMENTS: usize = 10;
/// The other end, which quinn wants to know by an address; the world delivers to nobody else.
const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 4_433);
/// The name that TLS wants of a server.
const NAME: &str = "receiver";

/// The world's time as quinn's.
#[derive(Clone, Copy)]
struct Clock {
    zero: time::Instant,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "there is no other way to get one; only differences are ever used")]
    fn new() -> Self {
        // Far from the clock's own beginning, so that quinn may look back.
        Self { zero: time::Instant::now() + time::Duration::from_hours(24) }
    }

    fn theirs(self, ours: Instant) -> time::Instant {
        self.zero + time::Duration::from_nanos(ours.as_nanos())
    }

    fn ours(self, theirs: time::Instant) -> Instant {
        let nanos = theirs.saturating_duration_since(self.zero).as_nanos();
        Instant::from_nanos(nanos.min(u128::from(u64::MAX)) as u64)
    }
}

/// Whose application it is, and its part in the connection.
enum Role {
    Sender { writer: Writer, start: Instant, config: Box<ClientConfig> },
    Receiver(Reader),
}

/// An end of a connection.
pub(super) struct End {
    role: Role,
    clock: Clock,
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// Datagrams that have been made and not yet asked for.
    made: VecDeque<Outgoing>,
    buffer: Vec<u8>,
    wakeup: Option<Instant>,
    failure: Option<StackFailure>,
}

impl End {
    /// The client, which connects at its time and writes.
    pub(super) fn sender(setup: &StackSetup, seed: [u8; 32], config: ClientConfig) -> Self {
        let role = Role::Sender { writer: Writer::new(setup.transfer), start: setup.start, config: Box::new(config) };
        Self { wakeup: Some(setup.start), ..Self::new(role, seed, None) }
    }

    /// The server, which reads.
    pub(super) fn receiver(setup: &StackSetup, seed: [u8; 32], config: ServerConfig) -> Self {
        Self::new(Role::Receiver(Reader::new(setup.receive_window.is_some())), seed, Some(Arc::new(config)))
    }

    fn new(role: Role, seed: [u8; 32], server: Option<Arc<ServerConfig>>) -> Self {
        let mut config = EndpointConfig::default();
        config.rng_seed(Some(seed));
        Self {
            role,
            clock: Clock::new(),
            endpoint: Endpoint::new(Arc::new(config), server, true, None),
            connection: None,
            made: VecDeque::new(),
            buffer: Vec::new(),
            wakeup: None,
            failure: None,
        }
    }

    /// Connects if it is time.
    fn connect(&mut self, now: Instant) {
        let Role::Sender { start, config, .. } = &self.role else { return };
        if self.connection.is_some() || self.failure.is_some() || now < *start {
            return;
        }
        match self.endpoint.connect(self.clock.theirs(now), (**config).clone(), PEER, NAME) {
            Ok(connection) => self.connection = Some(connection),
            Err(error) => self.fail(now, error.to_string()),
        }
    }

    fn fail(&mut self, at: Instant, why: String) {
        self.failure.get_or_insert(StackFailure { at, why });
    }

    /// Lets endpoint and connection talk to each other, and the application hear what happened.
    fn settle(&mut self, now: Instant) {
        let Some((handle, connection)) = &mut self.connection else { return };
        let mut lost = None;
        loop {
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(answer);
                }
            }
            let Some(event) = connection.poll() else { break };
            match (event, &mut self.role) {
                (Event::ConnectionLost { reason }, _) => lost = Some(reason.to_string()),
                (Event::Connected, Role::Sender { writer, .. }) => writer.on_connected(connection),
                (Event::Stream(event), Role::Sender { writer, .. }) => writer.on_event(&event, connection, now),
                (Event::Stream(event), Role::Receiver(reader)) => reader.on_event(&event, connection),
                _ => {}
            }
        }
        // An idle connection ends by itself, and nobody closes one that has done its work.
        if let Some(why) = lost.filter(|_| !self.is_done()) {
            self.fail(now, why);
        }
    }

    /// Whether all there was to send has been acknowledged, or read.
    fn is_done(&self) -> bool {
        match &self.role {
            Role::Sender { writer, .. } => writer.completed.is_some(),
            Role::Receiver(reader) => reader.is_finished,
        }
    }

    /// Makes the next datagrams, if the connection has any to send.
    fn transmit(&mut self, now: Instant) {
        let theirs = self.clock.theirs(now);
        let Some((_, connection)) = &mut self.connection else { return };
        while connection.poll_timeout().is_some_and(|due| due <= theirs) {
            connection.handle_timeout(theirs);
        }
        self.settle(now);
        let Some((_, connection)) = &mut self.connection else { return };
        self.buffer.clear();
        let transmit = connection.poll_transmit(theirs, MAX_SEGMENTS, &mut self.buffer);
        if let Some(transmit) = transmit {
            self.cut(&transmit);
        } else {
            self.settle(now);
        }
    }

    /// Cuts what quinn hands over in one piece.
    fn cut(&mut self, transmit: &Transmit) {
        let ecn = transmit.ecn.map_or(Ecn::NotEct, |ecn| Ecn::from_bits(ecn as u8));
        let segment = transmit.segment_size.unwrap_or(transmit.size);
        let pieces = self.buffer[..transmit.size].chunks(segment);
        self.made.extend(pieces.map(|piece| Outgoing { datagram: piece.to_vec(), ecn }));
    }

    /// A client asks for a connection; only the first one gets it.
    fn welcome(&mut self, incoming: quinn_proto::Incoming, now: Instant) {
        if self.connection.is_some() {
            return self.endpoint.ignore(incoming);
        }
        match self.endpoint.accept(incoming, self.clock.theirs(now), &mut self.buffer, None) {
            Ok(connection) => self.connection = Some(connection),
            Err(error) => {
                if let Some(response) = error.response {
                    self.cut(&response);
                }
                self.fail(now, error.cause.to_string());
            }
        }
    }

    fn find_wakeup(&mut self) -> Option<Instant> {
        match &mut self.connection {
            Some((_, connection)) => connection.poll_timeout().map(|due| self.clock.ours(due)),
            None => self.wakeup.filter(|_| self.failure.is_none()),
        }
    }
}

impl Stack for End {
    fn accept(&mut self, datagram: &[u8], ecn: Ecn, now: Instant) {
        self.buffer.clear();
        let (theirs, ecn) = (self.clock.theirs(now), EcnCodepoint::from_bits(ecn.bits()));
        let event = self.endpoint.handle(theirs, PEER, None, ecn, BytesMut::from(datagram), &mut self.buffer);
        match event {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.welcome(incoming, now),
            Some(DatagramEvent::Response(response)) => self.cut(&response),
            None => {}
        }
        self.settle(now);
        self.wakeup = self.find_wakeup();
    }

    fn poll(&mut self, now: Instant) -> Option<Outgoing> {
        if self.made.is_empty() {
            self.connect(now);
            self.transmit(now);
            self.wakeup = self.find_wakeup();
        }
        self.made.pop_front()
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.wakeup
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        let Some((_, connection)) = &self.connection else { return };
        let path = connection.stats().path;
        let packets = |bytes: u64| bytes as f64 / f64::from(path.current_mtu);
        let millis = |duration: time::Duration| duration.as_secs_f64() * 1e3;
        report("cwnd", packets(path.cwnd));
        if let Some(ssthresh) = connection.congestion_state().metrics().ssthresh.filter(|bytes| *bytes < u64::MAX) {
            report("ssthresh", packets(ssthresh));
        }
        // Before the first sample both are a guess of 333 ms.
        if !connection.is_handshaking() {
            report("srtt", millis(path.rtt));
            report("min_rtt", millis(path.min_rtt));
        }
        report("congestion_events", path.congestion_events as f64);
        report("lost_packets", path.lost_packets as f64);
        report("mtu", f64::from(path.current_mtu));
    }

    fn stats(&self) -> StackStats {
        let lost = self.connection.as_ref().map_or(0, |(_, connection)| connection.stats().path.lost_packets);
        match &self.role {
            Role::Sender { writer, .. } => StackStats { lost, completed: writer.completed, goodput: Bytes::ZERO },
            Role::Receiver(reader) => StackStats { lost, goodput: reader.in_order(), completed: None },
        }
    }

    fn failure(&self) -> Option<&StackFailure> {
        self.failure.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_core::units::Duration;

    use super::*;

    #[test]
    fn time_survives_the_way_there_and_back() {
        let clock = Clock::new();
        for nanos in [0, 1, 1_000_000_007, 86_400_000_000_000] {
            assert_eq!(clock.ours(clock.theirs(Instant::from_nanos(nanos))).as_nanos(), nanos);
        }
        let before = clock.zero.checked_sub(time::Duration::from_secs(1)).expect("it is far from its own beginning");
        assert_eq!(clock.ours(before), Instant::ZERO);
        let later = Instant::ZERO + Duration::from_millis(3);
        assert_eq!(clock.theirs(later) - clock.zero, time::Duration::from_millis(3));
    }
}
