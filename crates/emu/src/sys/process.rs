//! Processes: their families, their rights and their priority.

use std::ffi::c_int;
use std::io;

use bakeoff_core::units::Duration;

use super::checked;

/// The number of a process.
pub type ProcessId = libc::pid_t;

/// The rights of an ordinary user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Number of the user.
    pub user: u32,
    /// Number of the group.
    pub group: u32,
}

/// Whether this process has all rights.
#[expect(unsafe_code, reason = "geteuid(2)")]
pub fn is_root() -> bool {
    // SAFETY: no memory is passed.
    unsafe { libc::geteuid() == 0 }
}

/// Kills this process when the one that started it ends, however that ends.
#[expect(unsafe_code, reason = "prctl(2)")]
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: no memory is passed.
    checked(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }).map(|_| ())
}

/// The next process to be started is the first of a family of its own: when it ends, all of them end.
#[expect(unsafe_code, reason = "unshare(2)")]
pub fn found_family() -> io::Result<()> {
    // SAFETY: no memory is passed.
    checked(unsafe { libc::unshare(libc::CLONE_NEWPID) }).map(|_| ())
}

/// Splits this process, which must have one thread only, in two: the child gets `None`.
#[expect(unsafe_code, reason = "fork(2)")]
pub fn fork() -> io::Result<Option<ProcessId>> {
    // SAFETY: with one thread, the child finds everything as the parent left it.
    let child = checked(unsafe { libc::fork() })?;
    Ok((child > 0).then_some(child))
}

/// Waits for a child to end; its exit code, or 128 and the number of the signal that ended it.
#[expect(unsafe_code, reason = "waitpid(2)")]
pub fn wait(child: ProcessId) -> io::Result<u8> {
    let mut status: c_int = 0;
    // SAFETY: the number lives across the call.
    while let Err(error) = checked(unsafe { libc::waitpid(child, &raw mut status, 0) }) {
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(exit_code(status))
}

/// The exit code of a child that has ended; `None` while it has not.
#[expect(unsafe_code, reason = "waitid(2)")]
pub fn has_ended(child: ProcessId) -> io::Result<Option<u8>> {
    // SAFETY: all-zero bytes are a valid structure, which lives across the call.
    let information = unsafe {
        let mut information: libc::siginfo_t = std::mem::zeroed();
        // It stays to be waited for, so that this can be asked again.
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        checked(libc::waitid(libc::P_PID, child as libc::id_t, &raw mut information, options))?;
        information
    };
    // SAFETY: these are the fields that waitid(2) fills.
    let (ended, status) = unsafe { (information.si_pid(), information.si_status()) };
    let code = if information.si_code == libc::CLD_EXITED { status as u8 } else { 128 | status as u8 };
    Ok((ended == child).then_some(code))
}

/// Sends a signal to all processes of a group.
#[expect(unsafe_code, reason = "killpg(2)")]
pub fn signal_group(group: u32, signal: c_int) -> io::Result<()> {
    // SAFETY: no memory is passed.
    checked(unsafe { libc::killpg(group as libc::pid_t, signal) }).map(|_| ())
}

/// Kills a child.
#[expect(unsafe_code, reason = "kill(2)")]
pub fn end(child: ProcessId) -> io::Result<()> {
    // SAFETY: no memory is passed.
    checked(unsafe { libc::kill(child, libc::SIGKILL) }).map(|_| ())
}

fn exit_code(status: c_int) -> u8 {
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) as u8 } else { 128 | libc::WTERMSIG(status) as u8 }
}

/// Gives up all rights but those of an ordinary user, for all threads and for good.
#[expect(unsafe_code, reason = "setgroups(2), setresgid(2), setresuid(2), prctl(2)")]
pub fn become_ordinary(identity: Identity) -> io::Result<()> {
    let Identity { user, group } = identity;
    // SAFETY: a list without entries is not read; otherwise no memory is passed.
    unsafe {
        checked(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1_u64, 0_u64, 0_u64, 0_u64))?;
        checked(libc::setgroups(0, std::ptr::null()))?;
        checked(libc::setresgid(group, group, group))?;
        checked(libc::setresuid(user, user, user))?;
    }
    // The kernel forgets the wish when a process changes its user.
    die_with_parent()
}

/// Lets this thread run before all ordinary ones, and not its children.
#[expect(unsafe_code, reason = "sched_setscheduler(2)")]
pub fn run_first(priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the structure lives across the call.
    let done =
        unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameters) };
    checked(done).map(|_| ())
}

/// Lets a child run only where nobody else wants to.
#[expect(unsafe_code, reason = "sched_setscheduler(2)")]
pub fn run_last(child: ProcessId) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the structure lives across the call.
    checked(unsafe { libc::sched_setscheduler(child, libc::SCHED_IDLE, &raw const parameters) }).map(|_| ())
}

/// Processors that this process may run on.
#[expect(unsafe_code, reason = "sched_getaffinity(2)")]
pub fn allowed_processors() -> io::Result<usize> {
    // SAFETY: all-zero bytes are a valid set, which lives across the calls.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        checked(libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set))?;
        Ok(libc::CPU_COUNT(&set) as usize)
    }
}

/// Keeps all memory of this process, also what it will ask for, in memory.
#[expect(unsafe_code, reason = "mlockall(2)")]
pub fn lock_memory() -> io::Result<()> {
    // SAFETY: no memory is passed.
    checked(unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) }).map(|_| ())
}

/// CPU time of this process, and of its children that have been waited for: user and system.
#[expect(unsafe_code, reason = "getrusage(2)")]
pub fn cpu_times() -> io::Result<[[Duration; 2]; 2]> {
    let mut times = [[Duration::ZERO; 2]; 2];
    for (time, who) in times.iter_mut().zip([libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN]) {
        // SAFETY: all-zero bytes are a valid structure, which lives across the call.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            checked(libc::getrusage(who, &raw mut usage))?;
            usage
        };
        *time = [usage.ru_utime, usage.ru_stime]
            .map(|time| Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64));
    }
    Ok(times)
}
