//! The files without which some schemes cannot be made.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use bakeoff_core::random::RandomStream;

/// Weights of Indigo's smallest network, and the counter before them.
const FLOATS: usize = 5_542;

/// The path of the file that a parameter names.
pub(crate) fn of(parameter: &str) -> String {
    match parameter {
        "tree" => concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/one-rule.json").to_owned(),
        _ => WEIGHTS.display().to_string(),
    }
}

/// A policy that takes all actions, because nobody has trained it.
static WEIGHTS: LazyLock<PathBuf> = LazyLock::new(|| {
    let mut random = RandomStream::new(1, "weights");
    let bytes: Vec<u8> = (0..FLOATS).flat_map(|_| (4.0 * random.uniform() as f32 - 2.0).to_le_bytes()).collect();
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("weights.bin");
    fs::write(&file, bytes).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    file
});
