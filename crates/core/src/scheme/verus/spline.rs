//! A smooth curve through noisy points: cubic B-splines with a penalty on bends (Eilers and Marx, "Flexible smoothing
//! with B-splines and penalties", 1996).

/// Bends weigh as much as two points do (Verus' `rho` of 2.0; the scale of its library's penalty is another one).
const PENALTY: f64 = 2.0;
/// Keeps the equations solvable where points are missing.
const RIDGE: f64 = 1e-9;
/// Basis functions that overlap at any place.
const ORDER: usize = 4;

/// A curve between the first and the last point, straight beyond.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spline {
    start: f64,
    spacing: f64,
    coefficients: Vec<f64>,
}

/// The four cubic basis functions that overlap at a place `u` of 0 to 1 between two knots.
fn basis(u: f64) -> [f64; ORDER] {
    let v = 1.0 - u;
    let (square, cube) = (u * u, u * u * u);
    [v * v * v, 3.0 * cube - 6.0 * square + 4.0, 3.0 * (u + square - cube) + 1.0, cube].map(|weight| weight / 6.0)
}

impl Spline {
    /// Fits `functions` basis functions, at least five, to points of increasing `x`; `None` if there are not two points.
    pub(super) fn fit(points: &[(f64, f64)], functions: usize) -> Option<Self> {
        let (first, last) = (points.first()?.0, points.last()?.0);
        let functions = functions.max(ORDER + 1);
        if last <= first {
            return None;
        }
        let spacing = (last - first) / (functions + 1 - ORDER) as f64;
        let mut spline = Self { start: first, spacing, coefficients: vec![0.0; functions] };
        let mut matrix = vec![[0.0; ORDER]; functions];
        for (x, y) in points {
            let (segment, u) = spline.place(*x);
            let weights = basis(u);
            for row in 0..ORDER {
                spline.coefficients[segment + row] += weights[row] * y;
                for column in row..ORDER {
                    matrix[segment + row][column - row] += weights[row] * weights[column];
                }
            }
        }
        for row in 0..functions - 2 {
            let difference = [1.0, -2.0, 1.0];
            for (i, a) in difference.iter().enumerate() {
                for (j, b) in difference.iter().enumerate().skip(i) {
                    matrix[row + i][j - i] += PENALTY * a * b;
                }
            }
        }
        for row in &mut matrix {
            row[0] += RIDGE;
        }
        solve(&mut matrix, &mut spline.coefficients);
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

    /// How steeply the curve rises where it ends.
    pub(super) fn final_slope(&self) -> f64 {
        let end = self.coefficients.len();
        // The derivative of the basis at a knot: minus a half, nothing, and a half.
        (self.coefficients[end - 1] - self.coefficients[end - 3]) / (2.0 * self.spacing)
    }

    /// The curve at `x`.
    pub(super) fn at(&self, x: f64) -> f64 {
        let (start, end) = (self.start, self.end());
        if x <= start {
            return self.inside(start);
        }
        if x >= end { self.inside(end) + self.final_slope() * (x - end) } else { self.inside(x) }
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
        (1..=200).map(|x| (f64::from(x), curve(f64::from(x)))).collect()
    }

    #[test]
    fn a_straight_line_is_found_and_continued() {
        let spline = Spline::fit(&points(|x| 20.0 + 0.5 * x), 13).expect("two hundred points");
        for x in [1.0, 1.5, 77.3, 200.0, 300.0] {
            assert!((spline.at(x) - 20.0 - 0.5 * x).abs() < 1e-4, "{x}: {}", spline.at(x));
        }
        assert!((spline.at(0.0) - 20.5).abs() < 1e-4, "flat before the first point");
    }

    #[test]
    fn a_bend_is_followed_and_noise_is_not() {
        let noise = |x: f64| if (x as u32).is_multiple_of(2) { 3.0 } else { -3.0 };
        let curve = |x: f64| 40.0 + if x > 100.0 { x - 100.0 } else { 0.0 };
        let spline = Spline::fit(&points(|x| curve(x) + noise(x)), 13).expect("two hundred points");
        for x in [20.0, 50.0, 80.0, 130.0, 180.0] {
            assert!((spline.at(x) - curve(x)).abs() < 2.0, "{x}: {} for {}", spline.at(x), curve(x));
        }
    }

    #[test]
    fn two_points_are_enough_and_one_is_not() {
        assert!(Spline::fit(&[(3.0, 1.0)], 5).is_none());
        let spline = Spline::fit(&[(3.0, 10.0), (13.0, 20.0)], 5).expect("two points");
        assert!((spline.at(3.0) - 10.0).abs() < 0.1 && (spline.at(13.0) - 20.0).abs() < 0.1);
    }
}
