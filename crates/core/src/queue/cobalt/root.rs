//! Reciprocal square roots as COBALT takes them.
//!
//! **Source.** Linux 7.3 `net/sched/sch_cake.c` (`inv_sqrt_cache`, `cobalt_newton_step`).

/// `1 / sqrt(n)` as a fraction of 2^32, for n from 0 on.
const INVERSE_ROOTS: [u32; 16] = [
    u32::MAX,
    u32::MAX,
    3_037_000_500,
    2_479_700_525,
    2_147_483_647,
    1_920_767_767,
    1_753_413_056,
    1_623_345_051,
    1_518_500_250,
    1_431_655_765,
    1_358_187_914,
    1_294_981_364,
    1_239_850_263,
    1_191_209_601,
    1_147_878_294,
    1_108_955_788,
];

/// `1 / sqrt(count)` as a fraction of 2^32: from a table, or one Newton step on from what it was for the count before.
pub(in crate::queue) fn inverse_root(count: u32, before: u32) -> u32 {
    INVERSE_ROOTS.get(count as usize).copied().unwrap_or_else(|| {
        let inverse = u64::from(before);
        let square = (inverse * inverse) >> 32;
        let step = (3_u64 << 32).wrapping_sub(u64::from(count).wrapping_mul(square)) >> 2;
        (step.wrapping_mul(inverse) >> 31) as u32
    })
}
