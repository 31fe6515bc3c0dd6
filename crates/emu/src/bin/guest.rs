//! The first program of a guest: runs one job and switches the machine off.
//!
//! The kernel passes it the host's folder of the run as the variable `folder`.

use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let folder = std::env::var("folder").unwrap_or_default();
    if let Err(error) = bakeoff_emu::guest::run(&folder) {
        let _ = writeln!(io::stdout(), "bakeoff-guest: {error}");
    }
    match bakeoff_emu::sys::power_off() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
