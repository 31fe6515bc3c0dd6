//! The machine's clocks.

use std::io;

use bakeoff_core::units::Duration;

use super::checked;

#[expect(unsafe_code, reason = "clock_gettime(2)")]
fn read(clock: libc::clockid_t) -> io::Result<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours and lives across the call.
    checked(unsafe { libc::clock_gettime(clock, &raw mut time) })?;
    Ok(Duration::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64))
}

/// Time since the machine started.
pub fn monotonic() -> io::Result<Duration> {
    read(libc::CLOCK_MONOTONIC)
}

/// Time since the epoch, the clock of packets' time stamps.
pub fn realtime() -> io::Result<Duration> {
    read(libc::CLOCK_REALTIME)
}

/// CPU time of the calling thread.
pub fn thread_cpu_time() -> io::Result<Duration> {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Waits until the monotonic clock shows `time`.
#[expect(unsafe_code, reason = "clock_nanosleep(2)")]
pub fn sleep_until(time: Duration) {
    let nanos = time.as_nanos();
    let until = libc::timespec {
        tv_sec: (nanos / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
    };
    // A signal may end the call early; a time in range cannot fail otherwise.
    // SAFETY: the structure is ours and lives across the call.
    while unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const until, std::ptr::null_mut())
    } == libc::EINTR
    {}
}

/// Lets this thread, and those that it starts, wake up on time: the kernel may otherwise be 50 us late on purpose.
#[expect(unsafe_code, reason = "prctl(2)")]
pub fn wake_up_on_time() -> io::Result<()> {
    // SAFETY: no memory is passed.
    checked(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) }).map(|_| ())
}
