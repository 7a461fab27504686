//! The output block, by the names of the specification.

use crate::statistics::{Statistics, harmonic};
use std::fmt;

/// What one search took.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    pub seconds: f64,
    /// Edges of the input in the component that was searched.
    pub edges: u64,
    /// What its validation took, if it was made.
    pub validated: Option<f64>,
}

/// The searches of one kernel.
#[derive(Clone, Debug)]
pub struct Searches {
    /// The word with which its lines begin.
    pub kernel: &'static str,
    pub searches: Vec<Search>,
}

/// All that is reported.
#[derive(Clone, Debug)]
pub struct Report {
    pub scale: u32,
    pub edgefactor: u64,
    pub keys: usize,
    /// Seconds that generating the edges took, or reading them.
    pub generation: f64,
    pub processes: usize,
    /// Seconds of kernel 1.
    pub construction: f64,
    pub kernels: Vec<Searches>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        line(f, "SCALE", self.scale)?;
        line(f, "edgefactor", self.edgefactor)?;
        line(f, "NBFS", self.keys)?;
        line(f, "graph_generation", Figure(self.generation))?;
        line(f, "num_mpi_processes", self.processes)?;
        line(f, "construction_time", Figure(self.construction))?;
        for kernel in &self.kernels {
            kernel.seven(f, "time", |search| Some(search.seconds))?;
        }
        for kernel in &self.kernels {
            kernel.seven(f, "nedge", |search| Some(search.edges as f64))?;
        }
        for kernel in &self.kernels {
            kernel.rates(f)?;
        }
        for kernel in &self.kernels {
            kernel.seven(f, "validate", |search| search.validated)?;
        }
        Ok(())
    }
}

impl Searches {
    fn seven(
        &self,
        f: &mut fmt::Formatter<'_>,
        of: &str,
        figure: impl Fn(&Search) -> Option<f64>,
    ) -> fmt::Result {
        let Some(statistics) = Statistics::of(self.searches.iter().filter_map(figure).collect()) else {
            return Ok(());
        };
        let lines = [
            ("min", statistics.min),
            ("firstquartile", statistics.first_quartile),
            ("median", statistics.median),
            ("thirdquartile", statistics.third_quartile),
            ("max", statistics.max),
            ("mean", statistics.mean),
            ("stddev", statistics.deviation),
        ];
        lines.iter().try_for_each(|(name, figure)| {
            line(f, &format!("{:<5}{name}_{of}", self.kernel), Figure(*figure))
        })
    }

    /// Rates are the inverse of times: the longest time gives the lowest rate.
    fn rates(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A component without edges has no rate.
        let with_edges = self.searches.iter().filter(|search| search.edges > 0);
        let seconds: Vec<f64> = with_edges.map(|search| search.seconds / search.edges as f64).collect();
        let count = seconds.len();
        let Some(times) = Statistics::of(seconds) else { return Ok(()) };
        let (mean, error) = harmonic(&times, count);
        let lines = [
            ("min_TEPS", times.max),
            ("firstquartile_TEPS", times.third_quartile),
            ("median_TEPS", times.median),
            ("thirdquartile_TEPS", times.first_quartile),
            ("max_TEPS", times.min),
        ];
        for (name, seconds) in lines {
            line(f, &format!("{:<5}{name}", self.kernel), Figure(1.0 / seconds))?;
        }
        // The mark by which the reference code points out what counts.
        line(f, &format!("{:<5}harmonic_mean_TEPS", self.kernel), format!("!  {}", Figure(mean)))?;
        line(f, &format!("{:<5}harmonic_stddev_TEPS", self.kernel), Figure(error))
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, value: impl fmt::Display) -> fmt::Result {
    writeln!(f, "{:<32}{value}", format!("{name}:"))
}

/// A number with six significant digits, as C's `%g` prints it.
struct Figure(f64);

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scientific = format!("{:.5e}", self.0);
        let Some((digits, exponent)) = scientific.split_once('e') else { return f.write_str(&scientific) };
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let is_plain = (-4..6).contains(&exponent);
        let decimals = (5 - exponent).max(0) as usize;
        let text = if is_plain { format!("{:.decimals$}", self.0) } else { digits.to_owned() };
        let short = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        match (is_plain, exponent < 0) {
            (true, _) => f.write_str(short),
            (false, true) => write!(f, "{short}e-{:02}", -exponent),
            (false, false) => write!(f, "{short}e+{exponent:02}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_as_c_does() {
        let written = |number| Figure(number).to_string();
        assert_eq!(
            [0.0, 1.0, 0.5, 123_456.0, 0.000_123_456_7, 1_234_567.0, 1e9, 2.5e-7, 99_999.96].map(written),
            ["0", "1", "0.5", "123456", "0.000123457", "1.23457e+06", "1e+09", "2.5e-07", "100000"]
        );
    }

    #[test]
    fn the_block_has_the_names_of_the_specification() {
        let search = |seconds| Search { seconds, edges: 1000, validated: Some(0.5) };
        let searches = |kernel| Searches { kernel, searches: vec![search(0.5), search(0.25)] };
        let report = Report {
            scale: 6,
            edgefactor: 16,
            keys: 2,
            generation: 0.001,
            processes: 1,
            construction: 0.25,
            kernels: vec![searches("bfs"), searches("sssp")],
        };
        let text = report.to_string();
        assert_eq!(text.lines().count(), 6 + 2 * (7 + 7 + 7 + 7));
        for line in [
            "SCALE:                          6",
            "NBFS:                           2",
            "construction_time:              0.25",
            "bfs  min_time:                  0.25",
            "sssp mean_time:                 0.375",
            "bfs  max_nedge:                 1000",
            "bfs  min_TEPS:                  2000",
            "bfs  harmonic_mean_TEPS:        !  2666.67",
            "sssp stddev_validate:           0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }
}
