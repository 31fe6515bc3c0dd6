//! Carries packets between the hosts and the path until the run ends.

use bakeoff_core::units::{Bytes, Duration, Instant};

use super::engine::{Delivery, Engine};
use super::hosts::{device_of, host_of};
use super::job::EmulatorJob;
use super::lateness::Lateness;
use super::ownership::Ownership;
use super::report::{Discarded, Interface};
use super::super_packet::{READ_BYTES, SCRATCH, Scratch, SuperPacket};
use super::waiting::Waiting;
use crate::error::{Context, RunError};
use crate::senders::Host;
use crate::sys::{Poll, Tun};
use crate::udp::Clock;

/// Reads from one device before the others have their turn.
const READS: usize = 64;
/// A packet that may pass no more routers goes no further than its host: how a stopped flow falls silent.
const LAST_HOP: u8 = 1;

/// How often the run is asked whether to go on.
const CHECK_EVERY: Duration = Duration::from_millis(100);

/// The two sides, and what went between them.
pub(super) struct Exchange<'a> {
    pub(super) clock: Clock,
    pub(super) devices: &'a [Tun],
    pub(super) ownership: Ownership,
    pub(super) engine: Engine,
    pub(super) merges: bool,
    /// What no packet of the hosts' devices exceeds.
    pub(super) largest_packet: Bytes,
    /// Whether a queue would have to sort packets by their DSCPs and cannot.
    has_no_tins: bool,
    pub(super) lateness: Lateness,
    pub(super) interfaces: Vec<Interface>,
    pub(super) discarded: Discarded,
    due: Vec<Delivery>,
    buffer: Box<[u8]>,
    scratch: Scratch,
}

impl<'a> Exchange<'a> {
    pub(super) fn new(
        clock: Clock,
        devices: &'a [Tun],
        ownership: Ownership,
        engine: Engine,
        job: &EmulatorJob,
    ) -> Self {
        let mut hops = job.scenario.forward.iter().chain(&job.scenario.reverse);
        Self {
            clock,
            devices,
            ownership,
            engine,
            merges: job.merges,
            largest_packet: job.scenario.largest_packet(),
            has_no_tins: hops.any(|hop| hop.queue.problem_with_dscps().is_some()),
            lateness: Lateness::default(),
            interfaces: vec![Interface::default(); devices.len()],
            discarded: Discarded::default(),
            due: Vec::new(),
            buffer: vec![0; READ_BYTES].into(),
            scratch: SCRATCH,
        }
    }

    /// Carries packets until `end`; `check` is asked now and then whether to go on.
    pub(super) fn run(
        &mut self,
        end: Instant,
        check: &mut dyn FnMut() -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let mut poll = Poll::new(self.devices.iter().map(std::os::fd::AsFd::as_fd));
        let mut waiting = Waiting::new(self.clock);
        self.clock.wait_for_start();
        let mut next_check = Instant::ZERO;
        loop {
            let now = self.now()?;
            self.engine.advance(now, &mut self.due);
            self.deliver()?;
            if now >= end {
                return Ok(());
            }
            if now >= next_check {
                check()?;
                if self.engine.has_lost_its_log() {
                    return Ok(());
                }
                next_check = now + CHECK_EVERY;
            }
            waiting.wait(&mut poll, self.engine.next_wakeup().min(next_check).min(end))?;
            for device in 0..self.devices.len() {
                if poll.can_read(device) {
                    self.read(device, end)?;
                }
            }
        }
    }

    fn now(&self) -> Result<Instant, RunError> {
        self.clock.now().context(|| "reading the clock".to_owned())
    }

    /// Takes what a device has; what is still in it at the end is no part of the run.
    fn read(&mut self, device: usize, end: Instant) -> Result<(), RunError> {
        for _ in 0..READS {
            if self.now()? >= end {
                break;
            }
            let read = self.devices[device].read(&mut self.buffer).context(|| "reading a packet".to_owned())?;
            let Some(length) = read else { break };
            let now = self.now()?;
            self.interfaces[device].read += 1;
            self.engine.advance(now, &mut self.due);
            self.accept(length, device, now)?;
        }
        self.deliver()
    }

    /// Takes the packet of this length that is in the buffer.
    fn accept(&mut self, length: usize, device: usize, now: Instant) -> Result<(), RunError> {
        let from = host_of(device);
        let Some(whole) = SuperPacket::read(&self.buffer[..length]) else {
            self.discarded.foreign += 1;
            return Ok(());
        };
        self.interfaces[device].segments += u64::from(whole.segments());
        let Some(owner) = self.ownership.of(&whole.headers, from) else {
            self.discarded.foreign += 1;
            return Ok(());
        };
        if whole.headers.is_fragment {
            return Err(RunError::Fragment { flow: owner.flow.0 + 1, largest: self.largest_packet.count() });
        }
        if self.has_no_tins && whole.headers.dscp > 0 {
            return Err(RunError::Tins { flow: owner.flow.0 + 1, dscp: whole.headers.dscp });
        }
        if whole.headers.hop_limit <= LAST_HOP {
            self.discarded.silent += 1;
            return Ok(());
        }
        let to = device_of(Host { is_right: !from.is_right, ..from }) as u16;
        self.engine.accept(whole, owner, to, now);
        Ok(())
    }

    /// Hands over what is due.
    fn deliver(&mut self) -> Result<(), RunError> {
        let mut due = std::mem::take(&mut self.due);
        let mut rest = &due[..];
        while let Some((first, others)) = rest.split_first() {
            let run = if self.merges {
                others.iter().zip(rest).take_while(|(next, last)| follows(next, last)).count()
            } else {
                0
            };
            let now = self.now()?;
            for delivery in &rest[..=run] {
                self.lateness.add(delivery.due, now);
            }
            self.hand_over(first, run as u16 + 1);
            rest = &others[run..];
        }
        due.clear();
        self.due = due;
        Ok(())
    }

    fn hand_over(&mut self, first: &Delivery, segments: u16) {
        let piece = &first.packet.payload;
        let device = usize::from(piece.device);
        let range = piece.segment..piece.segment + segments;
        let to = &self.devices[device];
        let written = piece.whole.emit(range, first.packet.ds_field(), &mut self.scratch, |parts| to.write(parts));
        match written {
            Ok(()) => self.interfaces[device].written += 1,
            Err(_) => self.interfaces[device].refused += 1,
        }
    }
}

/// Whether a packet is the segment behind another one, with the same DS field.
fn follows(next: &Delivery, last: &Delivery) -> bool {
    let (next, last) = (&next.packet, &last.packet);
    std::sync::Arc::ptr_eq(&next.payload.whole, &last.payload.whole)
        && next.payload.segment == last.payload.segment + 1
        && next.ds_field() == last.ds_field()
}
