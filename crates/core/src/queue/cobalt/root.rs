//! Reciprocal square roots as COBALT takes them.
//!
//! **Source.** Linux 7.3 `net/sched/sch_cake.c` (`inv_sqrt_cache`, `cobalt_newton_step`); `net/sched/sch_cobalt.c` of the
//! SCE project (`cobalt_cache_init`).

/// `1 / sqrt(n)` as a fraction of 2^32, for n from 0 on.
pub(in crate::queue) type Table = [u32; 16];

/// Linux' table.
pub(in crate::queue) const LINUX: Table = [
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

/// What the SCE project's modules compute when they are loaded: each root in four steps from the one before, which do
/// not quite reach that of two.
pub(super) const COMPUTED: Table = {
    let mut roots = [u32::MAX; 16];
    let mut count = 1;
    while count < roots.len() {
        let mut root = roots[count - 1];
        let mut steps = 4;
        while steps > 0 {
            root = newton_step(count as u32, root);
            steps -= 1;
        }
        roots[count] = root;
        count += 1;
    }
    roots
};

const fn newton_step(count: u32, before: u32) -> u32 {
    let inverse = before as u64;
    let square = (inverse * inverse) >> 32;
    let step = (3_u64 << 32).wrapping_sub((count as u64).wrapping_mul(square)) >> 2;
    (step.wrapping_mul(inverse) >> 31) as u32
}

/// `1 / sqrt(count)` as a fraction of 2^32: from a table, or one Newton step on from what it was for the count before.
pub(in crate::queue) fn inverse_root(table: &Table, count: u32, before: u32) -> u32 {
    table.get(count as usize).copied().unwrap_or_else(|| newton_step(count, before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_hold_roots_but_for_that_of_two_which_four_steps_do_not_reach() {
        for count in 1..16_u32 {
            let root = 4_294_967_296.0 / f64::from(count).sqrt();
            let off = |table: &Table| (f64::from(table[count as usize]) - root).abs();
            assert!(off(&LINUX) < 2.0, "{count}");
            assert!(count == 2 || off(&COMPUTED) < 100.0, "{count}");
        }
        assert_eq!(COMPUTED[2], 3_035_289_760, "0.06 % less");
    }

    #[test]
    fn beyond_the_table_each_count_is_a_step_on_from_the_one_before() {
        let root = (16..1_000).fold(LINUX[15], |before, count| inverse_root(&LINUX, count, before));
        assert!((f64::from(root) * 999_f64.sqrt() / 4_294_967_296.0 - 1.0).abs() < 1e-5, "{root}");
    }
}
