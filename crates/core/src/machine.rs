//! The machine that a run in the simulator could be on.

use crate::units::Duration;

/// How long it has been up when a run starts, in every world with a kernel of its own: its timers have their phases from
/// it. It is more than the sixteen intervals after the boot in which FQ-CoDel's control begins with the count of a full
/// queue (`queue::fq_codel`), for intervals of up to two seconds.
pub const AGE: Duration = Duration::from_millis(31_720);
