//! The delay profile: how long packets took that were sent with each window.

use super::spline::Spline;

/// Windows that can be looked up (`MAX_W_DELAY_CURVE`).
pub(super) const MOST_WINDOWS: usize = 40_000;
/// Weight of the old delay of a window.
const KEPT: f64 = 0.875;
/// Windows per node of the curve at first (`N`), and the fewest nodes.
const WINDOWS_PER_NODE: usize = 15;
const FEWEST_NODES: usize = 5;
/// How much less delay is looked for while there is no curve and no packet took so long, milliseconds (`DELTA2`).
const SHORTER: f64 = 2.0;

/// Delays in milliseconds by window, and the curve through them.
#[derive(Debug)]
pub(super) struct DelayProfile {
    /// Negative where no packet was seen.
    delays: Vec<f64>,
    /// Fewer once there were too few windows, for good.
    windows_per_node: usize,
    curve: Option<Curve>,
}

impl Default for DelayProfile {
    fn default() -> Self {
        Self { delays: Vec::new(), windows_per_node: WINDOWS_PER_NODE, curve: None }
    }
}

#[derive(Debug)]
struct Curve {
    spline: Spline,
    /// The greatest value so far at every whole window from 2 on.
    highest: Vec<f64>,
}

impl Curve {
    fn fit(points: &[(f64, f64)], windows_per_node: &mut usize) -> Option<Self> {
        let last = points.last()?.0 as usize;
        *windows_per_node = (1..=*windows_per_node).rev().find(|n| last / n >= FEWEST_NODES)?;
        let spline = Spline::fit(points, last / *windows_per_node)?;
        let rise = |highest: &mut f64, window: usize| {
            *highest = highest.max(spline.at(window as f64));
            Some(*highest)
        };
        let highest = (2..=last).scan(f64::NEG_INFINITY, rise).collect();
        Some(Self { spline, highest })
    }

    /// The window before the first at which the curve exceeds a delay; `None` if it never does.
    fn window_at(&self, delay: f64) -> Option<f64> {
        let below = self.highest.partition_point(|value| *value <= delay);
        if below < self.highest.len() {
            return Some((below + 1) as f64);
        }
        let last = (self.highest.len() + 1) as f64;
        let slope = self.spline.final_slope();
        let window = last + ((delay - self.spline.at(last)) / slope).floor();
        (slope > 0.0 && window < MOST_WINDOWS as f64).then_some(window)
    }
}

impl DelayProfile {
    /// A packet sent with `window` took so long.
    pub(super) fn add(&mut self, window: usize, delay: f64) {
        let window = window.min(MOST_WINDOWS - 1);
        if window >= self.delays.len() {
            self.delays.resize(window + 1, -1.0);
        }
        let old = &mut self.delays[window];
        *old = if *old < 0.0 { delay } else { KEPT * *old + (1.0 - KEPT) * delay };
    }

    /// Draws the curve anew after forgetting windows from `stop` on; false if there is nothing to draw it from.
    pub(super) fn refresh(&mut self, stop: usize) -> bool {
        self.delays.truncate(stop);
        let points: Vec<_> = self
            .delays
            .iter()
            .enumerate()
            .skip(1)
            .filter(|(_, delay)| **delay >= 0.0)
            .map(|(window, delay)| (window as f64, *delay))
            .collect();
        self.curve = Curve::fit(&points, &mut self.windows_per_node);
        self.curve.is_some()
    }

    /// The delay to expect with a window (`calcDelayCurveInv`); negative if it is unknown.
    pub(super) fn delay_at(&self, window: f64) -> f64 {
        match &self.curve {
            Some(curve) => curve.spline.at(window),
            None => self.delays.get(window as usize).copied().unwrap_or(-1.0),
        }
    }

    /// The largest window up to which no more than `delay` is to be expected (`calcDelayCurve`).
    pub(super) fn window_at(&self, delay: f64) -> Option<f64> {
        match &self.curve {
            Some(curve) => curve.window_at(delay),
            None => Some(self.seen_window_at(delay)),
        }
    }

    /// Without a curve: the one before the first that took longer; if none did, for a delay that is shorter by twos.
    fn seen_window_at(&self, delay: f64) -> f64 {
        let seen = self.delays.get(2..).unwrap_or_default();
        let longest = seen.iter().copied().fold(-1.0, f64::max);
        let steps = ((delay - longest) / SHORTER).floor() + 1.0;
        let delay = delay - SHORTER * steps.max(0.0);
        let first = seen.iter().position(|seen| *seen > delay);
        (first.unwrap_or(seen.len()) + 1) as f64
    }

    /// Whether a curve was drawn (`haveSpline`).
    pub(super) fn has_curve(&self) -> bool {
        self.curve.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20 ms, and a millisecond for each packet.
    fn profile() -> DelayProfile {
        let mut profile = DelayProfile::default();
        (1..=150).for_each(|window| profile.add(window, 20.0 + window as f64));
        assert!(profile.refresh(MOST_WINDOWS));
        profile
    }

    #[test]
    fn a_window_keeps_seven_eighths_of_its_delay() {
        let mut profile = DelayProfile::default();
        profile.add(3, 100.0);
        profile.add(3, 180.0);
        assert!((profile.delay_at(3.9) - 110.0).abs() < 1e-9);
        assert!(profile.delay_at(2.0) < 0.0 && profile.delay_at(4.0) < 0.0);
    }

    #[test]
    fn a_delay_is_turned_into_the_window_that_causes_it() {
        let profile = profile();
        for (delay, window) in [(70.5, 50.0), (100.5, 80.0), (140.5, 120.0), (190.5, 170.0)] {
            let found = profile.window_at(delay).expect("the curve rises");
            assert!((found - window).abs() < 1e-9, "{delay} ms: {found}");
            assert!((profile.delay_at(window + 0.5) - delay).abs() < 1e-6);
        }
        assert_eq!(profile.window_at(1.0), Some(1.0), "less than any: the smallest");
        let longest = profile.window_at(40_019.5).expect("less than forty thousand packets");
        assert!((longest - 39_999.0).abs() < 1e-9, "{longest}");
        assert_eq!(profile.window_at(40_020.5), None, "forty thousand");
    }

    #[test]
    fn packets_of_larger_windows_count_for_the_largest_that_can_be_looked_up() {
        let mut profile = DelayProfile::default();
        profile.add(50_000, 100.0);
        assert!((profile.delay_at(39_999.0) - 100.0).abs() < 1e-9 && profile.delay_at(39_998.0) < 0.0);
        assert!(profile.delay_at(50_000.0) < 0.0);
    }

    #[test]
    fn a_curve_through_few_windows_leaves_later_ones_finer() {
        let mut profile = DelayProfile::default();
        (1..=40).for_each(|window| profile.add(window, 50.0));
        assert!(profile.refresh(MOST_WINDOWS));
        assert_eq!(profile.windows_per_node, 8);
        (1..=150).for_each(|window| profile.add(window, 50.0));
        assert!(profile.refresh(MOST_WINDOWS));
        assert_eq!(profile.windows_per_node, 8);
    }

    #[test]
    fn the_first_crossing_counts() {
        let mut profile = DelayProfile::default();
        (1..=300).for_each(|window| profile.add(window, if (100..200).contains(&window) { 200.0 } else { 50.0 }));
        assert!(profile.refresh(MOST_WINDOWS));
        let window = profile.window_at(120.0).expect("crossed");
        assert!((70.0..130.0).contains(&window), "{window}");
    }

    #[test]
    fn a_flat_curve_and_too_few_windows_map_nothing() {
        let mut profile = DelayProfile::default();
        (1..=4).for_each(|window| profile.add(window, 50.0));
        assert!(!profile.refresh(MOST_WINDOWS), "four windows are less than five nodes");
        (1..=150).for_each(|window| profile.add(window, 250.0 - window as f64));
        assert!(profile.refresh(MOST_WINDOWS));
        assert_eq!(profile.window_at(1_000.0), None);
        assert!(!profile.refresh(3), "what is cut off is forgotten");
    }
}
