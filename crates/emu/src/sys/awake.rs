//! Keeping idle processors awake: one that sleeps is late when it is wanted.

use std::fs::{self, File};
use std::io::{self, Write};
use std::thread::available_parallelism;

use super::process::{self, ProcessId};

/// The driver that puts idle processors to sleep; many virtual machines have none, and their host decides.
const IDLE_DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";

/// Idle processors stay awake until this is dropped.
pub struct Awake {
    /// Holds while it is open.
    _wish: Option<File>,
    spinning: Vec<ProcessId>,
}

impl Awake {
    /// Keeps them awake; call with one thread only.
    pub fn keep() -> io::Result<Self> {
        let driver = fs::read_to_string(IDLE_DRIVER).unwrap_or_default();
        if !matches!(driver.trim(), "" | "none") {
            return Self::by_wish();
        }
        // It counts what this process may use, also where that is less than it may run on.
        let processors = available_parallelism()?.get();
        if processors < process::allowed_processors()? {
            return Err(io::Error::other("the processors are rationed, and awake they would use the ration up"));
        }
        Self::by_work(processors)
    }

    /// The driver is told that nobody wants to wait: `Documentation/power/pm_qos_interface.rst`.
    fn by_wish() -> io::Result<Self> {
        let mut file = File::options().write(true).open("/dev/cpu_dma_latency")?;
        let microseconds: i32 = 0;
        file.write_all(&microseconds.to_ne_bytes())?;
        Ok(Self { _wish: Some(file), spinning: Vec::new() })
    }

    /// So many processors have something to do that anybody else may interrupt.
    fn by_work(processors: usize) -> io::Result<Self> {
        let mut awake = Self { _wish: None, spinning: Vec::new() };
        for _ in 0..processors {
            let Some(child) = process::fork()? else { spin() };
            awake.spinning.push(child);
            process::run_last(child)?;
        }
        Ok(awake)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        for child in &self.spinning {
            // It is ours and does not end by itself, so that neither can fail.
            let _ = process::end(*child).and_then(|()| process::wait(*child));
        }
    }
}

/// Does nothing, until it is killed.
fn spin() -> ! {
    if process::die_with_parent().is_err() {
        std::process::exit(1);
    }
    loop {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scheduling policy of a process (`proc_pid_stat(5)`); `None` if it is gone.
    fn policy(child: ProcessId) -> Option<String> {
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).ok()?;
        let (_, fields) = stat.rsplit_once(')')?;
        fields.split_whitespace().nth(38).map(str::to_owned)
    }

    #[test]
    fn who_keeps_a_processor_awake_yields_to_everybody_and_is_gone_afterwards() {
        let awake = Awake::by_work(2).unwrap();
        let spinning = awake.spinning.clone();
        assert_eq!(spinning.len(), 2);
        let idle = libc::SCHED_IDLE.to_string();
        assert!(spinning.iter().all(|child| policy(*child).as_ref() == Some(&idle)));
        drop(awake);
        assert!(spinning.iter().all(|child| policy(*child).is_none()));
    }
}
