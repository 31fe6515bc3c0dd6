//! A smooth curve through noisy points: the natural cubic spline over equal steps that is nearest to them, where bends
//! cost.
//!
//! **Source.** ALGLIB, `spline1dfitpenalized`, as Verus calls it: it minimises the squares of the errors and a multiple
//! of the integral of the squared second derivative. What that is multiplied with depends on the spline's cardinal
//! functions, which are one at a node and zero at the others. Here the sum is minimised over B-splines, which span the
//! same curves by narrow bands.

/// Bends weigh ten to the power of this (`rho`), in the measure of the cardinal functions.
const RHO: i32 = 2;
/// Keeps the equations solvable where points are missing (`tdecay`).
const RIDGE: f64 = 10.0 * f64::EPSILON;
/// Basis functions that overlap at any place.
const ORDER: usize = 4;
/// Nodes from its own to where a cardinal function has vanished: from node to node it becomes 0.27 of what it was.
const REACH: usize = 20;

/// A curve between the first and the last point, straight beyond.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spline {
    start: f64,
    spacing: f64,
    /// One for each node, and one on either side.
    coefficients: Vec<f64>,
}

/// The four cubic basis functions that overlap at a place `u` of 0 to 1 between two nodes.
fn basis(u: f64) -> [f64; ORDER] {
    let v = 1.0 - u;
    let (square, cube) = (u * u, u * u * u);
    [v * v * v, 3.0 * cube - 6.0 * square + 4.0, 3.0 * (u + square - cube) + 1.0, cube].map(|weight| weight / 6.0)
}

impl Spline {
    /// Fits a curve with so many nodes, at least four, to points of increasing `x`; `None` if there are not two points.
    pub(super) fn fit(points: &[(f64, f64)], nodes: usize) -> Option<Self> {
        let (first, last) = (points.first()?.0, points.last()?.0);
        let nodes = nodes.max(ORDER);
        if last <= first {
            return None;
        }
        let spacing = (last - first) / (nodes - 1) as f64;
        let mut spline = Self { start: first, spacing, coefficients: vec![0.0; nodes + 2] };
        let places: Vec<_> = points.iter().map(|(x, _)| spline.place(*x)).collect();
        let mut equations = Equations::new(nodes);
        for ((segment, u), (_, y)) in places.iter().zip(points) {
            equations.add(*segment, basis(*u), basis(*u), 1.0);
            equations.add_right(*segment, basis(*u), *y);
        }
        let cardinal = Cardinal::of(&places, nodes);
        let penalty = 10_f64.powi(RHO) * cardinal.norm / cardinal.bend;
        for segment in 0..nodes - 1 {
            // The second derivative at both ends, in units in which the curve is two wide (`lsfitscalexy`).
            let square = step(nodes).powi(2);
            let (left, right) = ([1.0, -2.0, 1.0, 0.0], [0.0, 1.0, -2.0, 1.0]);
            let [left, right] = [left, right].map(|bend: [f64; ORDER]| bend.map(|weight| weight / square));
            for (a, b, share) in [(left, left, 1.0), (left, right, 0.5), (right, left, 0.5), (right, right, 1.0)] {
                equations.add(segment, a, b, share * penalty * step(nodes) / 3.0);
            }
        }
        spline.coefficients = equations.solve(cardinal.norm * (1.0 + penalty) * RIDGE);
        Some(spline)
    }

    /// The segment of a place, and how far into it the place lies.
    fn place(&self, x: f64) -> (usize, f64) {
        let t = (x - self.start) / self.spacing;
        let segment = (t.max(0.0) as usize).min(self.coefficients.len() - ORDER);
        (segment, t - segment as f64)
    }

    fn inside(&self, x: f64) -> f64 {
        let (segment, u) = self.place(x);
        basis(u).iter().zip(&self.coefficients[segment..]).map(|(weight, coefficient)| weight * coefficient).sum()
    }

    fn end(&self) -> f64 {
        self.start + self.spacing * (self.coefficients.len() + 1 - ORDER) as f64
    }

    /// How steeply the curve rises at a node: the derivatives of the basis there are minus a half, nothing, and a half.
    fn slope(&self, node: usize) -> f64 {
        (self.coefficients[node + 2] - self.coefficients[node]) / (2.0 * self.spacing)
    }

    /// How steeply the curve rises where it ends.
    pub(super) fn final_slope(&self) -> f64 {
        self.slope(self.coefficients.len() - 3)
    }

    /// The curve at `x`.
    pub(super) fn at(&self, x: f64) -> f64 {
        let (start, end) = (self.start, self.end());
        if x < start {
            return self.inside(start) + self.slope(0) * (x - start);
        }
        if x > end { self.inside(end) + self.final_slope() * (x - end) } else { self.inside(x) }
    }
}

/// Between two nodes of a curve that is two wide.
fn step(nodes: usize) -> f64 {
    2.0 / (nodes - 1) as f64
}

/// The largest that any cardinal function has.
struct Cardinal {
    /// Of the sum of its squares over all points (`fdmax`).
    norm: f64,
    /// Of the integral of its squared second derivative (`admax`).
    bend: f64,
}

impl Cardinal {
    /// Of those with so many nodes, at places in increasing order.
    fn of(places: &[(usize, f64)], nodes: usize) -> Self {
        let mut most = Self { norm: 0.0, bend: 0.0 };
        for node in 0..nodes {
            let (first, last) = (node.saturating_sub(REACH), (node + REACH).min(nodes - 1));
            let bends = bends(node - first, last - first + 1, step(nodes));
            let bend = bends.windows(2).map(|ends| ends[0] * ends[0] + ends[0] * ends[1] + ends[1] * ends[1]);
            most.bend = most.bend.max(bend.sum::<f64>() * step(nodes) / 3.0);
            let value = |(segment, u): &(usize, f64)| {
                let (left, right) = (bends[segment - first], bends[segment + 1 - first]);
                let own = if *segment == node { 1.0 - u } else { 0.0 } + if segment + 1 == node { *u } else { 0.0 };
                let v = 1.0 - u;
                own + step(nodes).powi(2) / 6.0 * ((v * v * v - v) * left + (u * u * u - u) * right)
            };
            let near = |end: usize| places.partition_point(|(segment, _)| *segment < end);
            most.norm = most.norm.max(places[near(first)..near(last)].iter().map(|place| value(place).powi(2)).sum());
        }
        most
    }
}

/// Second derivatives at `nodes` nodes of the natural cubic spline that is one at one of them and zero at the others.
fn bends(own: usize, nodes: usize, step: f64) -> Vec<f64> {
    let mut bends = vec![0.0; nodes];
    let mut above = vec![0.0; nodes];
    for node in 1..nodes - 1 {
        let difference = match node.abs_diff(own) {
            0 => -2.0,
            1 => 1.0,
            _ => 0.0,
        };
        let pivot = 4.0 - above[node - 1];
        above[node] = 1.0 / pivot;
        bends[node] = (6.0 * difference / (step * step) - bends[node - 1]) / pivot;
    }
    for node in (1..nodes - 1).rev() {
        bends[node] -= above[node] * bends[node + 1];
    }
    bends
}

/// The normal equations of the coefficients between the outermost two, which follow from the others: natural splines do
/// not bend where they end.
struct Equations {
    /// Each row holds the diagonal and what is to its right.
    matrix: Vec<[f64; ORDER]>,
    right: Vec<f64>,
}

impl Equations {
    fn new(nodes: usize) -> Self {
        Self { matrix: vec![[0.0; ORDER]; nodes + 2], right: vec![0.0; nodes + 2] }
    }

    /// The same weights without those of the outermost coefficients.
    fn natural(&self, segment: usize, weights: [f64; ORDER]) -> [f64; ORDER] {
        let [mut a, mut b, mut c, mut d] = weights;
        if segment == 0 {
            (a, b, c) = (0.0, b + 2.0 * a, c - a);
        }
        if segment + ORDER == self.right.len() {
            (b, c, d) = (b - d, c + 2.0 * d, 0.0);
        }
        [a, b, c, d]
    }

    /// Adds a product of two sums of the coefficients that overlap in a segment.
    fn add(&mut self, segment: usize, left: [f64; ORDER], right: [f64; ORDER], factor: f64) {
        let (left, right) = (self.natural(segment, left), self.natural(segment, right));
        for (row, a) in left.iter().enumerate() {
            for (column, b) in right.iter().enumerate().skip(row) {
                self.matrix[segment + row][column - row] += factor * a * b;
            }
        }
    }

    fn add_right(&mut self, segment: usize, weights: [f64; ORDER], value: f64) {
        for (row, weight) in self.natural(segment, weights).iter().enumerate() {
            self.right[segment + row] += weight * value;
        }
    }

    /// All coefficients.
    fn solve(mut self, ridge: f64) -> Vec<f64> {
        let count = self.right.len();
        for row in &mut self.matrix {
            row[0] += ridge;
        }
        let last = count - 1;
        (self.matrix[0][0], self.matrix[last][0]) = (1.0, 1.0);
        solve(&mut self.matrix, &mut self.right);
        let mut found = self.right;
        found[0] = 2.0 * found[1] - found[2];
        found[last] = 2.0 * found[last - 1] - found[last - 2];
        found
    }
}

/// Solves a symmetric banded system in place, by Cholesky's method without roots; each row holds the diagonal and what
/// is to its right.
fn solve(matrix: &mut [[f64; ORDER]], right: &mut [f64]) {
    let count = right.len();
    for row in 0..count {
        let pivot = matrix[row];
        for below in 1..ORDER.min(count - row) {
            let factor = pivot[below] / pivot[0];
            for column in below..ORDER {
                matrix[row + below][column - below] -= factor * pivot[column];
            }
            right[row + below] -= factor * right[row];
        }
    }
    for row in (0..count).rev() {
        let known: f64 =
            (1..ORDER.min(count - row)).map(|right_of| matrix[row][right_of] * right[row + right_of]).sum();
        right[row] = (right[row] - known) / matrix[row][0];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(curve: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (1..=150).map(|x| (f64::from(x), curve(f64::from(x)))).collect()
    }

    fn passes(spline: &Spline, values: &[(f64, f64)]) {
        for (x, y) in values {
            assert!((spline.at(*x) - y).abs() < 1e-5, "{x}: {} for {y}", spline.at(*x));
        }
    }

    /// What ALGLIB 3.9, which comes with Verus, makes of the same points.
    #[test]
    fn curves_are_those_of_alglib() {
        let knee = Spline::fit(&points(|x| 50.0 + (x - 50.0).max(0.0)), 10).expect("150 points");
        passes(
            &knee,
            &[(0.0, 40.215_108), (1.0, 40.536_290), (20.0, 46.777_838), (50.0, 59.635_781), (75.5, 77.006_118)],
        );
        passes(&knee, &[(100.0, 98.695_601), (150.0, 148.698_007), (200.0, 199.520_550), (400.0, 402.810_721)]);
        let full = |x: f64| if x <= 37.0 { 50.0 + 3.0 * (x - 17.0).max(0.0) } else { 110.0 };
        let full = Spline::fit(&points(full), 10).expect("150 points");
        passes(&full, &[(0.0, 53.634_325), (1.0, 54.637_804), (20.0, 73.551_433), (50.0, 98.476_481)]);
        passes(&full, &[(75.5, 109.184_847), (100.0, 112.355_483), (150.0, 111.381_787), (400.0, 101.578_478)]);
        let few: Vec<_> = (1..=40).map(|x| (f64::from(x), f64::from(50 + x % 7 * (x % 3)))).collect();
        let few = Spline::fit(&few, 5).expect("40 points");
        passes(
            &few,
            &[(-3.0, 52.782_787), (1.0, 52.800_600), (7.25, 52.827_977), (20.0, 52.868_611), (60.0, 52.815_428)],
        );
    }

    #[test]
    fn and_so_are_those_through_points_with_gaps() {
        let next = |x: &u32| Some(x + x % 5 + 1).filter(|next| *next <= 300);
        let y = |x: f64| 60.0 + 20.0 * (x / 30.0).sin() + 0.2 * x;
        let points: Vec<_> = std::iter::successors(Some(3), next).map(|x| (f64::from(x), y(f64::from(x)))).collect();
        let spline = Spline::fit(&points, 20).expect("many points");
        passes(&spline, &[(3.0, 73.645_101), (50.5, 83.985_259), (100.0, 76.710_968), (222.0, 116.761_250)]);
        passes(&spline, &[(299.0, 116.853_938), (320.0, 112.416_115)]);
    }

    #[test]
    fn a_straight_line_is_found_and_continued() {
        let spline = Spline::fit(&points(|x| 20.0 + 0.5 * x), 10).expect("150 points");
        passes(&spline, &[0.0, 1.0, 1.5, 77.3, 150.0, 300.0].map(|x| (x, 20.0 + 0.5 * x)));
    }

    #[test]
    fn two_points_are_enough_and_one_is_not() {
        assert!(Spline::fit(&[(3.0, 1.0)], 5).is_none());
        let spline = Spline::fit(&[(3.0, 10.0), (13.0, 20.0)], 5).expect("two points");
        passes(&spline, &[(3.0, 10.0), (8.0, 15.0), (23.0, 30.0)]);
    }
}
