//! The packets of probes.

use super::Run;
use super::emulated::request_of;
use super::journey::Journeys;

impl Run<'_> {
    /// Tells the recorder of the packets of the probe with this index.
    pub(super) fn follow_probe(&mut self, index: usize, [requests, answers]: &[Journeys; 2]) {
        let flow = self.job.scenario.probe_packet(index).flow;
        for number in 0..requests.sent.len() {
            self.follow(requests, number, requests.packet(flow, true, number), None);
        }
        for (number, record) in answers.sent.iter().enumerate() {
            let mut answer = answers.packet(flow, false, number);
            answer.number = request_of(&record.header());
            self.follow(answers, number, answer, None);
        }
    }
}
