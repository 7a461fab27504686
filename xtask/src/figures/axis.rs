//! The axes of a drawing: logarithmic ones, and those that begin at 0.

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// How figures lie on an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// Equal ratios are equally long.
    Ratios,
    /// Begins at 0.
    Linear,
    /// As `Ratios`; each value that occurs has a mark.
    Each,
}

/// An axis with its marks.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    scale: Scale,
    range: Range<f64>,
    marks: Vec<f64>,
}

impl Axis {
    /// With room for these values, which are above 0 if the axis is logarithmic.
    pub(super) fn new(scale: Scale, figures: &[f64]) -> Self {
        let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
        let most = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (range, marks) = match scale {
            Scale::Linear => {
                let step = step(most.max(f64::MIN_POSITIVE) / 5.0);
                let steps = (most / step).ceil().max(1.0);
                (
                    0.0..steps * step * 1.02,
                    (0..=steps as u32).map(|number| f64::from(number) * step).collect(),
                )
            }
            Scale::Each => {
                let mut marks = figures.to_vec();
                marks.sort_by(f64::total_cmp);
                marks.dedup();
                (least / 1.2..most * 1.2, marks)
            }
            Scale::Ratios => {
                let range = least / 1.3..most * 1.3;
                let marks = ratio_marks(&range);
                (range, marks)
            }
        };
        Self { scale, range, marks }
    }

    fn place(&self, figure: f64) -> f64 {
        let along = |of: fn(f64) -> f64| {
            let (start, end) = (of(self.range.start), of(self.range.end));
            (of(figure) - start) / (end - start)
        };
        match self.scale {
            Scale::Linear => along(|figure| figure),
            Scale::Ratios | Scale::Each => along(f64::ln),
        }
    }
}

/// The next number of 1, 2, 5, 10, 20 and so on.
fn step(least: f64) -> f64 {
    let decade = 10_f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * decade >= least);
    factor.unwrap_or(10.0) * decade
}

/// Powers of ten; where there are few, also 2 and 5 between them.
fn ratio_marks(range: &Range<f64>) -> Vec<f64> {
    let decades = range.start.log10().floor() as i32..=range.end.log10().ceil() as i32;
    let of = |factors: &[f64]| -> Vec<f64> {
        let all = decades.clone().flat_map(|decade| {
            factors.iter().map(move |factor| factor * 10_f64.powi(decade)).collect::<Vec<_>>()
        });
        all.filter(|mark| range.contains(mark)).collect()
    };
    let coarse = of(&[1.0]);
    if coarse.len() > 3 { coarse } else { of(&[1.0, 2.0, 5.0]) }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        limit.0 + (self.place(*value) * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.marks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Axis {
    fn format(value: &f64) -> String {
        short(*value)
    }
}

/// A number with three significant digits, and `k`, `M` or `G` for thousands and more.
pub(super) fn short(figure: f64) -> String {
    let (scaled, unit) = match figure.abs() {
        size if size >= 999.5e6 => (figure / 1e9, "G"),
        size if size >= 999.5e3 => (figure / 1e6, "M"),
        size if size >= 9_995.0 => (figure / 1e3, "k"),
        _ => (figure, ""),
    };
    let digits = match scaled.abs() {
        size if size == 0.0 || size >= 99.5 => 0,
        size if size >= 9.95 => 1,
        size if size >= 0.995 => 2,
        size => (2.0 - size.log10().floor()).max(0.0) as usize,
    };
    let text = format!("{scaled:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        let written =
            [0.0, 1.0, 0.001_254, 0.05, 9.123, 55.55, 1024.0, 9999.0, 65_536.0, 1.5e6, 2e9].map(short);
        assert_eq!(
            written,
            ["0", "1", "0.00125", "0.05", "9.12", "55.5", "1024", "10k", "65.5k", "1.5M", "2G"]
        );
    }

    #[test]
    fn an_axis_has_a_few_marks_within_its_range() {
        let linear = Axis::new(Scale::Linear, &[3.0, 87.0]);
        assert_eq!(linear.marks, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(linear.map(&0.0, (0, 100)), 0);
        let ratios = Axis::new(Scale::Ratios, &[10.0, 1000.0]);
        assert_eq!(ratios.map(&100.0, (300, 100)), 200);
        assert!(ratios.marks.len() >= 3, "{:?}", ratios.marks);
        assert_eq!(Axis::new(Scale::Each, &[4.0, 1.0, 4.0]).marks, [1.0, 4.0]);
        assert_eq!([0.9, 1.0, 1.1, 3.0, 70.0].map(step), [1.0, 1.0, 2.0, 5.0, 100.0]);
    }
}
