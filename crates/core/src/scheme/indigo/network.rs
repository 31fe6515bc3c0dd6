//! The policy: stacked LSTM cells and a linear layer, in single precision.
//!
//! The file is the tensors of the published checkpoints in the order of their names, little-endian: a counter, bias (5)
//! and weight (H x 5) of the linear layer, then bias (4H) and kernel ((input + H) x 4H) of each cell. The gates of a
//! cell are input, candidate, forget, output; the forget gate has a bias of one beyond the stored one
//! (`BasicLSTMCell`).

/// What the policy sees, and what it may do.
pub(super) const INPUTS: usize = 9;
pub(super) const ACTIONS: usize = 5;
/// Layers and units of the published networks.
const SHAPES: [(usize, usize); 3] = [(1, 32), (1, 128), (2, 256)];
/// What they are called, after a word for any of them.
pub(super) const NAMES: &[&str; 4] = &["any", "1x32", "1x128", "2x256"];
const FORGET_BIAS: f32 = 1.0;

const fn size((layers, units): (usize, usize)) -> u64 {
    let mut floats = 1 + ACTIONS + ACTIONS * units;
    let (mut layer, mut inputs) = (0, INPUTS);
    while layer < layers {
        floats += 4 * units * (1 + inputs + units);
        inputs = units;
        layer += 1;
    }
    4 * floats as u64
}

fn floats(file: &[u8]) -> impl Iterator<Item = f32> {
    file.chunks_exact(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

/// What is wrong with a file that is to hold the network called `name`, if anything is.
pub(super) fn problem(file: &[u8], name: &str) -> Option<String> {
    let bytes = file.len() as u64;
    let Some(found) = SHAPES.into_iter().position(|shape| size(shape) == bytes) else {
        let [small, middle, large] = SHAPES.map(size);
        let [_, first, second, third] = NAMES;
        return Some(format!(
            "this one has {bytes} bytes, not {small} ({first}), {middle} ({second}) or {large} ({third})"
        ));
    };
    let found = NAMES[1 + found];
    if name != NAMES[0] && name != found {
        return Some(format!("this one has {found} units, and network = {name:?} wants others"));
    }
    if let Some(index) = floats(file).skip(1).position(|weight| !weight.is_finite()) {
        return Some(format!("this one has a weight, number {}, that is no number", index + 1));
    }
    floats(file).skip(1).all(|weight| weight == 0.0).then(|| "in this one all weights are zero".to_owned())
}

#[derive(Debug)]
struct Cell {
    bias: Vec<f32>,
    /// Row by row: one row per input and unit.
    kernel: Vec<f32>,
    /// What the cell remembers, and what it said.
    memory: Vec<f32>,
    output: Vec<f32>,
    gates: Vec<f32>,
}

impl Cell {
    fn step(&mut self, inputs: &[f32]) {
        let units = self.output.len();
        self.gates.copy_from_slice(&self.bias);
        for (value, row) in inputs.iter().chain(&self.output).zip(self.kernel.chunks_exact(4 * units)) {
            for (gate, weight) in self.gates.iter_mut().zip(row) {
                *gate += value * weight;
            }
        }
        for unit in 0..units {
            let [input, candidate, forget, output] = [0, 1, 2, 3].map(|gate| self.gates[gate * units + unit]);
            let kept = self.memory[unit] * sigmoid(forget + FORGET_BIAS);
            self.memory[unit] = kept + sigmoid(input) * candidate.tanh();
            self.output[unit] = self.memory[unit].tanh() * sigmoid(output);
        }
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// A policy and the state of its cells.
#[derive(Debug)]
pub(super) struct Network {
    bias: [f32; ACTIONS],
    weight: Vec<f32>,
    cells: Vec<Cell>,
}

impl Network {
    /// The network of a file; `None` if it has none of the published sizes.
    pub(super) fn read(file: &[u8]) -> Option<Self> {
        let (layers, units) = SHAPES.into_iter().find(|shape| size(*shape) == file.len() as u64)?;
        let mut floats = floats(file);
        let mut take = |count: usize| floats.by_ref().take(count).collect::<Vec<_>>();
        take(1);
        let bias = take(ACTIONS).try_into().ok()?;
        let weight = take(ACTIONS * units);
        let cell = |layer| {
            let inputs = if layer == 0 { INPUTS } else { units };
            Cell {
                bias: take(4 * units),
                kernel: take(4 * units * (inputs + units)),
                memory: vec![0.0; units],
                output: vec![0.0; units],
                gates: vec![0.0; 4 * units],
            }
        };
        Some(Self { bias, weight, cells: (0..layers).map(cell).collect() })
    }

    /// One step; returns the action with the largest logit, the first of equal ones.
    pub(super) fn decide(&mut self, observation: &[f32; INPUTS]) -> usize {
        let logits = self.step(observation);
        (1..ACTIONS).fold(0, |best, action| if logits[action] > logits[best] { action } else { best })
    }

    fn step(&mut self, observation: &[f32; INPUTS]) -> [f32; ACTIONS] {
        let mut below: &[f32] = observation;
        for cell in &mut self.cells {
            cell.step(below);
            below = &cell.output;
        }
        let mut logits = self.bias;
        for (value, row) in below.iter().zip(self.weight.chunks_exact(ACTIONS)) {
            for (logit, weight) in logits.iter_mut().zip(row) {
                *logit += value * weight;
            }
        }
        logits
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A file of the smallest network in which everything is zero but what `set` changes.
    pub(in crate::scheme::indigo) fn file(set: impl Fn(&mut [f32])) -> Vec<u8> {
        let mut floats = vec![0.0; size(SHAPES[0]) as usize / 4];
        set(&mut floats);
        floats.into_iter().flat_map(f32::to_le_bytes).collect()
    }

    /// Where the tensors of the smallest network begin.
    pub(in crate::scheme::indigo) const LINEAR_BIAS: usize = 1;
    pub(in crate::scheme::indigo) const LINEAR_WEIGHT: usize = 6;
    const CELL_BIAS: usize = LINEAR_WEIGHT + 5 * 32;
    pub(in crate::scheme::indigo) const KERNEL: usize = CELL_BIAS + 4 * 32;

    #[test]
    fn the_published_files_have_these_sizes() {
        assert_eq!(SHAPES.map(size), [22_168, 285_208, 3_195_928]);
        assert!(Network::read(&[0; 100]).is_none());
    }

    #[test]
    fn what_holds_no_policy_is_refused() {
        let sound = file(|floats| floats[LINEAR_BIAS] = 1.0);
        assert_eq!([problem(&sound, "any"), problem(&sound, "1x32")], [None, None]);
        let other = problem(&sound, "2x256").unwrap_or_default();
        assert_eq!(other, "this one has 1x32 units, and network = \"2x256\" wants others");
        assert_eq!(
            problem(&sound[1..], "any").as_deref(),
            Some("this one has 22167 bytes, not 22168 (1x32), 285208 (1x128) or 3195928 (2x256)")
        );
        for odd in [f32::NAN, f32::INFINITY] {
            let odd = file(|floats| (floats[LINEAR_BIAS], floats[CELL_BIAS]) = (1.0, odd));
            assert_eq!(problem(&odd, "any").as_deref(), Some("this one has a weight, number 166, that is no number"));
        }
        assert_eq!(problem(&file(|_| ()), "any").as_deref(), Some("in this one all weights are zero"));
    }

    #[test]
    fn one_unit_computes_what_the_equations_say() {
        // Unit 0 with candidate weight 2 for input 3 and its own output, input gate 0.5, and a forget gate of -1.
        let file = file(|floats| {
            floats[KERNEL + 3 * 128 + 32] = 2.0;
            floats[KERNEL + 9 * 128 + 32] = 2.0;
            floats[CELL_BIAS] = 0.5;
            floats[CELL_BIAS + 2 * 32] = -1.0;
            floats[LINEAR_WEIGHT + 4] = 1.0;
        });
        let mut network = Network::read(&file).expect("of the right size");
        let observation = [0.0, 0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0];
        let (mut memory, mut output) = (0.0_f32, 0.0_f32);
        for _ in 0..3 {
            let candidate = (2.0 * 0.3 + 2.0 * output).tanh();
            memory = memory * 0.5 + candidate / (1.0 + (-0.5_f32).exp());
            output = memory.tanh() * 0.5;
            let logits = network.step(&observation);
            assert!((logits[4] - output).abs() < 1e-6, "{} not {output}", logits[4]);
        }
    }

    #[test]
    fn the_first_of_equal_actions_is_taken() {
        let mut network = Network::read(&file(|floats| floats[LINEAR_BIAS..][..ACTIONS].fill(1.0))).expect("sized");
        assert_eq!(network.decide(&[0.0; INPUTS]), 0);
    }
}
