//! The statistics that the specification reports.

/// Of numbers in ascending order, computed like in the reference code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    pub min: f64,
    pub first_quartile: f64,
    pub median: f64,
    pub third_quartile: f64,
    pub max: f64,
    pub mean: f64,
    /// Of a sample; 0 for one number.
    pub deviation: f64,
}

impl Statistics {
    /// None, if there are no numbers.
    pub fn of(mut numbers: Vec<f64>) -> Option<Self> {
        numbers.sort_by(f64::total_cmp);
        let last = numbers.len().checked_sub(1)?;
        let between = |one: usize, other: usize| (numbers[one] + numbers[other]) / 2.0;
        let count = numbers.len();
        let mean = numbers.iter().sum::<f64>() / count as f64;
        let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
        Some(Self {
            min: numbers[0],
            first_quartile: between(last / 4, count / 4),
            median: between(last / 2, count / 2),
            third_quartile: between(last - last / 4, count - 1 - (count / 4).min(last)),
            max: numbers[last],
            mean,
            deviation: if last == 0 { 0.0 } else { (squares / last as f64).sqrt() },
        })
    }
}

/// The harmonic mean of rates, and its standard error, by those of the times per edge (Norris, 1940).
pub fn harmonic(seconds_per_edge: &Statistics, count: usize) -> (f64, f64) {
    let degrees = (count as f64 - 1.0).max(1.0);
    let Statistics { mean, deviation, .. } = seconds_per_edge;
    (1.0 / mean, deviation / (mean * mean * degrees.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_neighbours() {
        let statistics = Statistics::of(vec![4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(
            [
                statistics.min,
                statistics.first_quartile,
                statistics.median,
                statistics.third_quartile,
                statistics.max
            ],
            [1.0, 1.5, 2.5, 3.5, 4.0]
        );
        assert_eq!(statistics.mean, 2.5);
        assert!((statistics.deviation - (5.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        let one = Statistics::of(vec![7.0]).unwrap();
        assert_eq!(
            [one.min, one.first_quartile, one.third_quartile, one.max, one.deviation],
            [7.0, 7.0, 7.0, 7.0, 0.0]
        );
        assert_eq!(Statistics::of(Vec::new()), None);
    }

    #[test]
    fn the_harmonic_mean_is_that_of_the_rates() {
        // 2 and 4 edges a second.
        let times = Statistics::of(vec![0.5, 0.25]).unwrap();
        let (mean, error) = harmonic(&times, 2);
        assert!((mean - 8.0 / 3.0).abs() < 1e-12);
        assert!((error - times.deviation / 0.140_625).abs() < 1e-12);
        assert_eq!(harmonic(&Statistics::of(vec![0.5]).unwrap(), 1), (2.0, 0.0));
    }
}
