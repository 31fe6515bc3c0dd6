//! Runs the scenario in a folder between real senders, and leaves its logs there.
//!
//! The process that is started waits for another one, the first of a family of processes: when either ends, all end.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use bakeoff_emu::emulator;
use bakeoff_emu::sys::{self, Identity};
use bakeoff_stacks::STACKS;

/// The user and group called "nobody".
const NOBODY: u32 = 65_534;

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        say("needs the folder of a run");
        return ExitCode::from(2);
    };
    match start(Path::new(&folder)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            say(&format!("cannot start: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn say(what: &str) {
    let _ = writeln!(io::stdout(), "bakeoff-emulator: {what}");
}

fn start(folder: &Path) -> io::Result<u8> {
    sys::die_with_parent()?;
    sys::found_family()?;
    if let Some(first) = sys::fork()? {
        return sys::wait(first);
    }
    sys::die_with_parent()?;
    Ok(match emulator::run(folder, identity(), STACKS) {
        Ok(()) => 0,
        Err(error) => {
            say(&error.to_string());
            1
        }
    })
}

/// Who senders are: the user who called sudo, or nobody.
fn identity() -> Identity {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok().filter(|number| *number > 0);
    Identity { user: number("SUDO_UID").unwrap_or(NOBODY), group: number("SUDO_GID").unwrap_or(NOBODY) }
}
