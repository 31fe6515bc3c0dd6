//! What is restored when losses prove to have been none (draft, "Updating the Model Upon Detecting a Spurious Loss
//! Recovery").

use super::{Bbr3, State};

/// The state that losses made the flow leave (`BBR.undo_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Undo {
    #[default]
    None,
    Startup,
    Up,
}

/// The model before the losses.
#[derive(Debug, Default)]
pub(super) struct Saved {
    pub(super) state: Undo,
    pub(super) bw_shortterm: f64,
    pub(super) inflight_shortterm: f64,
    pub(super) inflight_longterm: f64,
}

impl Bbr3 {
    /// `SaveStateUponLoss`.
    pub(super) fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.undo = Saved {
            state: Undo::None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// `HandleSpuriousLossDetection`.
    pub(super) fn handle_spurious_loss(&mut self) {
        self.restore_cwnd();
        self.latest.is_loss_in_round = false;
        self.full_bw.reset(0.0);
        self.bw_shortterm = self.bw_shortterm.max(self.undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        match std::mem::take(&mut self.undo.state) {
            Undo::Startup if self.state != State::Startup => {
                self.full_bw.is_reached = false;
                if self.state != State::ProbeRtt {
                    self.enter_startup();
                }
            }
            Undo::Up if !matches!(self.state, State::Up | State::ProbeRtt) => self.enter_refill(),
            _ => {}
        }
    }
}
