//! A sender and a receiver, whatever transport is between them.

use bakeoff_core::endpoint::Endpoint;
use bakeoff_core::packet::Packet;
use bakeoff_core::record::FlowAccount;
use bakeoff_core::scenario::{Scenario, ScenarioError};
use bakeoff_core::scheme::{Scheme, Setup};
use bakeoff_core::transport::stack::{ConnectionLost, StackEnd, StackEntry};
use bakeoff_core::transport::stream::{Positions, Receiver, Sender};
use bakeoff_core::units::{Bytes, Duration, Instant};

use crate::network::{Network, Why};
use crate::payload::Payload;
use crate::roster::TimerId;

/// Makes a scheme, from what our transport tells of the flow.
pub type MakeScheme<'a> = dyn FnOnce(Setup) -> Result<Box<dyn Scheme>, ScenarioError> + 'a;

/// What carries a flow, and who decides for it.
pub enum Transport<'a> {
    /// Our own, with a scheme that is made when the flow is: one of ours, or one that somebody else computes.
    Stream(Box<MakeScheme<'a>>),
    /// A stack that is not ours, with a controller of its own.
    Stack(&'a StackEntry),
}

impl<'a> Transport<'a> {
    /// What the flow with this index names: one of these stacks, or a scheme of ours.
    pub fn named(scenario: &'a Scenario, flow: usize, stacks: &'a [StackEntry]) -> Self {
        let name = &scenario.flows[flow].scheme;
        match stacks.iter().find(|entry| entry.info.name == name) {
            Some(entry) => Self::Stack(entry),
            None => Self::Stream(Box::new(move |setup| scenario.scheme(flow, name, setup))),
        }
    }
}

/// The two ends.
#[expect(clippy::large_enum_variant, reason = "nearly all flows are the large one, and none moves")]
enum Ends {
    /// Of our own transport.
    Stream { sender: Sender, receiver: Receiver, positions: Positions },
    /// Of a stack that is not ours.
    Stack { sender: StackEnd, receiver: StackEnd },
}

/// Sends what an end has to send now, and plans when there may be more.
#[inline(always)]
fn send_all<P>(
    end: &mut impl Endpoint<P>,
    mut positions: Option<&mut Positions>,
    is_sender: bool,
    plan: impl Fn(&mut Network, Option<Instant>),
    network: &mut Network,
) where
    Payload: From<P>,
{
    loop {
        let pool = if is_sender { &mut network.pools.data } else { &mut network.pools.acks };
        let polled = end.poll(network.now, pool);
        let is_over = polled.is_none() || end.is_silent_before(network.now + Duration::from_nanos(1));
        if is_over {
            // Before the packet leaves: the sooner it is known who comes next, the better.
            plan(network, end.next_wakeup());
        }
        if let Some(packet) = polled {
            network.send(packet, positions.as_deref_mut());
        }
        if is_over {
            return;
        }
    }
}

/// A flow under way.
pub(crate) struct Flow {
    ends: Ends,
    pub(crate) start: Instant,
    pub(crate) stop: Instant,
    pub(crate) sender_timer: TimerId,
    pub(crate) receiver_timer: TimerId,
}

impl Flow {
    /// The flow with this index.
    pub(crate) fn of(
        scenario: &Scenario,
        index: usize,
        transport: Transport<'_>,
        sender_timer: TimerId,
        receiver_timer: TimerId,
    ) -> Result<Self, ScenarioError> {
        let ends = match transport {
            Transport::Stream(make) => {
                let (sender, receiver) = scenario.ends_with(index, &scenario.flows[index].scheme, make)?;
                Ends::Stream { sender, receiver, positions: Positions::default() }
            }
            Transport::Stack(entry) => {
                let [sender, receiver] = scenario.stack_ends(index, entry)?;
                Ends::Stack { sender, receiver }
            }
        };
        let (start, stop) = (scenario.start_of(index), scenario.stop_of(index));
        Ok(Self { ends, start, stop, sender_timer, receiver_timer })
    }

    /// A packet arrives at the end that it goes to.
    pub(crate) fn accept(&mut self, packet: &Packet<Payload>, now: Instant) {
        let (envelope, is_data_direction) = (packet.envelope(), packet.is_data_direction);
        match (&packet.payload, &mut self.ends) {
            (Payload::Segment(segment), Ends::Stream { receiver, .. }) if is_data_direction => {
                receiver.accept(segment, envelope, now);
            }
            (Payload::Segment(segment), Ends::Stream { sender, .. }) => sender.accept(segment, envelope, now),
            (Payload::Datagram(datagram), Ends::Stack { sender, receiver }) => {
                let end = if is_data_direction { receiver } else { sender };
                end.accept(datagram, envelope, now);
            }
            // A flow's packets are its own.
            _ => {}
        }
    }

    /// More arrives at the receiver at this instant ([`Endpoint::hold_reader`]).
    pub(crate) fn hold_reader(&mut self) -> bool {
        match &mut self.ends {
            Ends::Stream { receiver, .. } => receiver.hold_reader(),
            Ends::Stack { receiver, .. } => receiver.hold_reader(),
        }
    }

    /// All has arrived that does ([`Endpoint::release_reader`]).
    pub(crate) fn release_reader(&mut self, network: &mut Network) {
        match &mut self.ends {
            Ends::Stream { receiver, .. } => receiver.release_reader(network.now),
            Ends::Stack { receiver, .. } => receiver.release_reader(network.now),
        }
        self.wake_receiver(Why::Arrival, network);
    }

    /// Sends what can be sent now, and plans when there may be more.
    #[inline(always)]
    pub(crate) fn wake_sender(&mut self, why: Why, network: &mut Network) {
        let timer = self.sender_timer;
        let plan = |network: &mut Network, next| network.plan(timer, why, next);
        if network.now >= self.stop {
            return plan(network, None);
        }
        match &mut self.ends {
            Ends::Stream { sender, positions, .. } => send_all(sender, Some(positions), true, plan, network),
            Ends::Stack { sender, .. } => send_all(sender, None, true, plan, network),
        }
    }

    /// Sends the acks that are due now, and plans when there may be more.
    #[inline(always)]
    pub(crate) fn wake_receiver(&mut self, why: Why, network: &mut Network) {
        let timer = self.receiver_timer;
        let plan = |network: &mut Network, next| network.plan(timer, why, next);
        match &mut self.ends {
            Ends::Stream { receiver, positions, .. } => send_all(receiver, Some(positions), false, plan, network),
            Ends::Stack { receiver, .. } => send_all(receiver, None, false, plan, network),
        }
    }

    pub(crate) fn sender_wakeup(&self) -> Option<Instant> {
        match &self.ends {
            Ends::Stream { sender, .. } => sender.next_wakeup(),
            Ends::Stack { sender, .. } => sender.next_wakeup(),
        }
    }

    /// True if the sender, unless more arrives, has nothing to do before `time`.
    pub(crate) fn is_sender_silent_before(&self, time: Instant) -> bool {
        match &self.ends {
            Ends::Stream { sender, .. } => sender.is_silent_before(time),
            Ends::Stack { sender, .. } => sender.is_silent_before(time),
        }
    }

    /// What the application of the receiver has.
    pub(crate) fn goodput(&self) -> Bytes {
        match &self.ends {
            Ends::Stream { receiver, .. } => receiver.stats.goodput,
            Ends::Stack { receiver, .. } => receiver.stats().goodput,
        }
    }

    /// Reports the inner state of the sender.
    pub(crate) fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        match &self.ends {
            Ends::Stream { sender, .. } => sender.telemetry(report),
            Ends::Stack { sender, .. } => sender.telemetry(report),
        }
    }

    /// How its connection was lost, if it was, before the flow was to stop: by the end that gave it up first.
    pub(crate) fn loss(&self) -> Option<ConnectionLost> {
        let Ends::Stack { sender, receiver } = &self.ends else { return None };
        let losses = [sender, receiver].into_iter().filter_map(|end| end.loss_before(self.stop));
        losses.min_by_key(|loss| loss.failure.at)
    }

    /// What its two ends have done.
    pub(crate) fn account(&self) -> FlowAccount {
        let Self { ends, start, stop, .. } = self;
        let account = FlowAccount { start: *start, stop: *stop, goodput: self.goodput(), ..FlowAccount::default() };
        match ends {
            Ends::Stream { sender, .. } => FlowAccount {
                retransmissions: sender.stats.retransmissions,
                timeouts: Some(sender.stats.timeouts),
                completed: sender.stats.completed,
                ..account
            },
            Ends::Stack { sender, .. } => {
                let stats = sender.stats();
                FlowAccount { retransmissions: stats.lost, completed: stats.completed, ..account }
            }
        }
    }
}
