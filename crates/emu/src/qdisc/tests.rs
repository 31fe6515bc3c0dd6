//! What all mappings have in common, and helpers of their own tests.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::mapping::{Parameter, Values};
use super::*;

const LINK: Link = Link { mean_rate: Some(Rate::from_bits_per_second(12_000_000)), largest_packet: Bytes::new(1_500) };

type Outcome = Result<(&'static str, Vec<u8>), String>;

fn outcome(queue: &Value, link: &Link) -> Outcome {
    let qdisc = Qdisc::from_queue(queue.as_object().unwrap(), link).map_err(|error| error.to_string())?;
    let bytes = match qdisc.options {
        Options::Attributes(message) => message.as_bytes().to_vec(),
        Options::Structure(bytes) => bytes,
    };
    Ok((qdisc.kind, bytes))
}

/// The kind and the options of a queue before a link of 12 Mbit/s.
pub(super) fn bytes(queue: &Value) -> (&'static str, Vec<u8>) {
    outcome(queue, &LINK).unwrap()
}

/// As [`bytes`], before a link without a rate.
pub(super) fn unlimited(queue: &Value) -> Outcome {
    outcome(queue, &Link { mean_rate: None, ..LINK })
}

/// Why there is no qdisc for a queue.
pub(super) fn refusal(queue: &Value) -> String {
    outcome(queue, &LINK).unwrap_err()
}

/// Attributes byte for byte: number and value.
pub(super) fn attributes(expected: &[(u16, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, value) in expected {
        bytes.extend_from_slice(&(value.len() as u16 + 4).to_ne_bytes());
        bytes.extend_from_slice(&number.to_ne_bytes());
        bytes.extend_from_slice(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

#[test]
fn a_queue_that_cannot_be_mapped_says_what_would_be_right() {
    let kinds = "fifo, pfifo_fast, fq, codel, fq_codel, pie, fq_pie, cake, red, dualpi2";
    for (queue, sentence) in [
        (json!({}), format!("a queue needs a `kind`, which is one of {kinds}")),
        (json!({ "kind": "blue" }), format!("there is no queue called \"blue\" in Linux; it has {kinds}")),
        (
            json!({ "kind": "codel", "flows": null }),
            "queue codel has no parameter \"flows\" in Linux; leave it out (it has limit, target, interval, ecn, \
             ce_threshold)"
                .to_owned(),
        ),
        (
            json!({ "kind": "fifo", "room_bytes": 3_000 }),
            "queue fifo has no parameter \"room\" in Linux; leave it out (it has limit, drop)".to_owned(),
        ),
        (
            json!({ "kind": "codel", "target_ns": 1_000 }),
            "parameter target of queue codel cannot be 1us in Linux; it takes 2us to 60s".to_owned(),
        ),
        (
            json!({ "kind": "fq", "quantum_bytes": 100 }),
            "parameter quantum of queue fq cannot be 100B in Linux; it takes 256B to 1048576B"
                .to_owned(),
        ),
        (
            json!({ "kind": "dualpi2", "coupling": "2" }),
            "parameter coupling of queue dualpi2 cannot be \"2\" in Linux; it takes 1 to 255".to_owned(),
        ),
        (
            json!({ "kind": "codel", "limit_packets": 10.5 }),
            "parameter limit of queue codel cannot be 10.5 in Linux; it takes multiples of 1pkt, of which 11pkt is the \
             nearest"
                .to_owned(),
        ),
        (
            json!({ "kind": "pie", "alpha_hz": 0.16 }),
            "parameter alpha of queue pie cannot be 0.16 in Linux; it takes multiples of 0.0625, of which 0.1875 is \
             the nearest"
                .to_owned(),
        ),
        (
            json!({ "kind": "pie", "ecn": 1 }),
            "parameter ecn of queue pie cannot be 1 in Linux; it takes true or false".to_owned(),
        ),
        (
            json!({ "kind": "cake", "ack_filter": true }),
            "parameter ack_filter of queue cake cannot be true in Linux; it takes \"none\" or \"filter\" or \
             \"aggressive\""
                .to_owned(),
        ),
    ] {
        assert_eq!(refusal(&queue), sentence);
    }
}

#[test]
fn a_refusal_names_no_key_that_a_file_cannot_state() {
    for mapping in mappings() {
        let statable =
            mapping.parameters.iter().map(|parameter| parameter.name).filter(|name| mapping.key(name).is_some());
        for name in statable.chain(["nonsense"]) {
            let refused = refusal(&json!({ "kind": mapping.queue, name: [] }));
            for of_the_core in ["_ns", "_bytes", "_packets", "_hz", "wash", "ack_filter", "split_gso"] {
                assert!(!refused.contains(of_the_core), "{refused}");
            }
        }
    }
}

#[test]
fn options_are_nested_unless_they_are_a_structure_and_absent_if_empty() {
    let message = |queue: Value| {
        let qdisc = Qdisc::from_queue(queue.as_object().unwrap(), &LINK).unwrap();
        qdisc.add_to(Message::attributes()).as_bytes().to_vec()
    };
    assert_eq!(message(json!({ "kind": "pie" })), attributes(&[(1, b"pie\0")]));
    let nested = attributes(&[(6, &[1, 0, 0, 0])]);
    let expected = attributes(&[(1, b"pie\0"), (0x8002, &nested)]);
    assert_eq!(message(json!({ "kind": "pie", "ecn": true })), expected);
    let expected = attributes(&[(1, b"pfifo\0"), (2, &[9, 0, 0, 0])]);
    assert_eq!(message(json!({ "kind": "fifo", "limit_packets": 9 })), expected);
}

#[test]
fn every_parameter_is_declared_once_and_can_be_written_down() {
    for mapping in mappings() {
        let mut names: Vec<_> = mapping.parameters.iter().map(|parameter| parameter.name).collect();
        let mut attributes: Vec<_> =
            mapping.parameters.iter().map(|parameter| format!("{:?}", parameter.wire)).collect();
        attributes.retain(|wire| wire != "Field");
        for list in [&mut names.iter().map(ToString::to_string).collect::<Vec<_>>(), &mut attributes] {
            let length = list.len();
            list.sort();
            list.dedup();
            assert_eq!(list.len(), length, "{}", mapping.queue);
        }
        names.sort_unstable();
        assert!(serde_json::to_string(mapping).is_ok());
    }
}

/// A value that the parameter takes: null, or the one that `draw`, from 0 to 1, picks.
fn value(parameter: &Parameter, draw: Option<f64>) -> Value {
    let Some(draw) = draw else { return Value::Null };
    match parameter.values {
        // Squared, since what is small matters as much as what is large.
        Values::Number { min, max, unit } => {
            let steps = ((max - min) * draw.powi(4) / unit.step).floor();
            json!((min + steps * unit.step).min(max))
        }
        Values::Flag => json!(draw > 0.5),
        Values::Choice { options } => json!(options[(draw * (options.len() as f64 - 0.01)) as usize].0),
    }
}

proptest! {
    #[test]
    fn values_within_their_bounds_become_options_or_do_not_fit_together(
        index in 0..MAPPINGS.len(),
        draws in vec(proptest::option::of(0.0..=1.0), 16),
        rate in proptest::option::of(1_000_u64..400_000_000_000),
        size in 64_u64..9_000,
    ) {
        let (mapping, _) = MAPPINGS[index];
        let mut queue = Map::from_iter([("kind".to_owned(), json!(mapping.queue))]);
        for (parameter, draw) in mapping.parameters.iter().zip(draws) {
            queue.insert(parameter.name.to_owned(), value(parameter, draw));
        }
        let link = Link { mean_rate: rate.map(Rate::from_bits_per_second), largest_packet: Bytes::new(size) };
        match Qdisc::from_queue(&queue, &link) {
            Ok(qdisc) => prop_assert!(mapping.qdiscs.contains(&qdisc.kind)),
            Err(error) => {
                prop_assert!(matches!(mapping.queue, "fifo" | "red" | "dualpi2"), "{error}: {queue:?}");
            }
        }
    }
}
