//! The results of measurements, as they are kept in a file for each figure.

use crate::failure::{Context, Failure, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// One measurement at one point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) round: usize,
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// The share of the machine that other programs took meanwhile.
    pub(crate) others: f64,
    /// Whether other programs took too much, however often it was measured.
    pub(crate) disturbed: bool,
}

/// Measurements of the same point, one for each round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Point {
    pub(crate) label: String,
    pub(crate) samples: Vec<Sample>,
}

/// A line of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Series {
    pub(crate) panel: usize,
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
}

/// A measurement that failed, or could not be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Missing {
    pub(crate) what: String,
    pub(crate) why: String,
}

/// The machine, and the program that was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) processors: usize,
    pub(crate) is_virtual: bool,
    pub(crate) memory_bytes: u64,
    pub(crate) kernel: String,
    /// The commit, and whether there were changes on top of it.
    pub(crate) commit: String,
    pub(crate) time: String,
}

/// A figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Recording {
    pub(crate) figure: u8,
    pub(crate) effort: String,
    pub(crate) machine: Machine,
    /// How many rounds were begun.
    pub(crate) rounds: usize,
    pub(crate) interrupted: bool,
    pub(crate) series: Vec<Series>,
    pub(crate) missing: Vec<Missing>,
}

impl Point {
    /// The median of x, and the median of y with the least and the most; of undisturbed samples, if there are any.
    pub(crate) fn summary(&self) -> Summary {
        let quiet: Vec<&Sample> = self.samples.iter().filter(|sample| !sample.disturbed).collect();
        let is_disturbed = quiet.is_empty();
        let samples = if is_disturbed { self.samples.iter().collect() } else { quiet };
        let of = |figure: fn(&Sample) -> f64| -> Vec<f64> {
            let mut figures: Vec<f64> = samples.iter().map(|sample| figure(sample)).collect();
            figures.sort_by(f64::total_cmp);
            figures
        };
        let (x, y) = (of(|sample| sample.x), of(|sample| sample.y));
        let ends = (y.first().copied().unwrap_or(f64::NAN), y.last().copied().unwrap_or(f64::NAN));
        Summary { x: median(&x), y: median(&y), least: ends.0, most: ends.1, is_disturbed }
    }

    /// The median, over the rounds, of y divided by another point's y: both were measured within minutes of each other.
    pub(crate) fn ratio(&self, other: &Self) -> Option<f64> {
        let of_round = |round| other.samples.iter().find(|sample| sample.round == round);
        let pairs = self.samples.iter().filter_map(|sample| Some((sample, of_round(sample.round)?)));
        let mut ratios: Vec<f64> = pairs.map(|(own, other)| own.y / other.y).collect();
        ratios.sort_by(f64::total_cmp);
        (!ratios.is_empty()).then(|| median(&ratios))
    }
}

impl Series {
    pub(crate) fn point(&self, label: &str) -> Option<&Point> {
        self.points.iter().find(|point| point.label == label)
    }
}

/// A point as it is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// Whether all samples were disturbed.
    pub(crate) is_disturbed: bool,
}

/// Of sorted numbers; not a number if there are none.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        length if length % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

impl Recording {
    pub(crate) fn new(figure: u8, effort: &str, machine: Machine) -> Self {
        let (series, missing) = (Vec::new(), Vec::new());
        Self { figure, effort: effort.to_owned(), machine, rounds: 0, interrupted: false, series, missing }
    }

    /// What a measurement can go on with: all whole rounds. Nothing of another effort or another commit.
    pub(crate) fn resumed(mut self, effort: &str, machine: &Machine) -> Option<Self> {
        if self.effort != effort || self.machine.commit != machine.commit {
            return None;
        }
        if self.interrupted {
            self.rounds = self.rounds.saturating_sub(1);
            for series in &mut self.series {
                series
                    .points
                    .iter_mut()
                    .for_each(|point| point.samples.retain(|sample| sample.round <= self.rounds));
                series.points.retain(|point| !point.samples.is_empty());
            }
            self.series.retain(|series| !series.points.is_empty());
        }
        Some(self)
    }

    /// Adds a sample to its point. The point may be new, and so may its line.
    pub(crate) fn add(&mut self, panel: usize, name: &str, label: &str, sample: Sample) {
        let is_it = |series: &Series| series.panel == panel && series.name == name;
        let at = self.series.iter().position(is_it).unwrap_or_else(|| {
            self.series.push(Series { panel, name: name.to_owned(), points: Vec::new() });
            self.series.len() - 1
        });
        let points = &mut self.series[at].points;
        let at = points.iter().position(|point| point.label == label).unwrap_or_else(|| {
            points.push(Point { label: label.to_owned(), samples: Vec::new() });
            points.len() - 1
        });
        points[at].samples.push(sample);
    }

    /// Notes, once, that something could not be measured.
    pub(crate) fn miss(&mut self, what: &str, why: &str) {
        if !self.missing.iter().any(|missing| missing.what == what && missing.why == why) {
            self.missing.push(Missing { what: what.to_owned(), why: why.to_owned() });
        }
    }

    fn path(folder: &Path, figure: u8) -> PathBuf {
        folder.join(format!("figure-{figure}.json"))
    }

    /// Writes it into a folder. Until that is done, readers find the old file.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn save(&self, folder: &Path) -> Result<()> {
        let path = Self::path(folder, self.figure);
        let new = path.with_extension("json.new");
        let text = serde_json::to_string_pretty(self).context(path.display())?;
        fs::write(&new, text + "\n").at(&new)?;
        fs::rename(&new, &path).at(&path)
    }

    /// Reads a recording; nothing if there is none.
    ///
    /// # Errors
    /// The file cannot be read, or is something else.
    pub(crate) fn load(folder: &Path, figure: u8) -> Result<Option<Self>> {
        let path = Self::path(folder, figure);
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(&path).at(&path)?;
        let wrong = |error| Failure::new(format!("{}: it is not a recording: {error}", path.display()));
        serde_json::from_str(&text).map(Some).map_err(wrong)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sample(x: f64, y: f64, disturbed: bool) -> Sample {
        Sample { round: 1, x, y, others: if disturbed { 0.5 } else { 0.0 }, disturbed }
    }

    /// A point with three samples, one of which was disturbed; a point with disturbed samples only; and something that
    /// is missing.
    pub(crate) fn recording(figure: u8) -> Recording {
        let mut recording = Recording::new(figure, "quick", Machine { processors: 2, ..Machine::default() });
        for (x, y, disturbed) in [(10.0, 4.0, false), (30.0, 2.0, false), (1000.0, 100.0, true)] {
            recording.add(0, "Gossamer", "first", sample(x, y, disturbed));
        }
        recording.add(0, "Gossamer", "second", sample(100.0, 8.0, true));
        recording.add(0, "Others & <sons>", "first", sample(50.0, 16.0, false));
        recording.miss("carrier pigeons", "none is installed");
        recording
    }

    #[test]
    fn a_median_leaves_out_what_was_disturbed_unless_all_was() {
        let recording = recording(4);
        let [first, second] = [0, 1].map(|point: usize| recording.series[0].points[point].summary());
        assert_eq!(first, Summary { x: 20.0, y: 3.0, least: 2.0, most: 4.0, is_disturbed: false });
        assert_eq!((second.y, second.is_disturbed), (8.0, true));
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn a_recording_comes_back_from_its_file() {
        let folder = std::env::temp_dir().join(format!("recording-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut written = recording(5);
        written.miss("carrier pigeons", "none is installed");
        written.save(&folder).unwrap();
        assert_eq!(Recording::load(&folder, 5).unwrap(), Some(written));
        assert_eq!(Recording::load(&folder, 6).unwrap(), None);
        let text = fs::read_to_string(Recording::path(&folder, 5)).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["machine"]["processors"], 2);
        assert_eq!(value["series"][0]["points"][0]["samples"][2]["disturbed"], true);
        assert_eq!(value["missing"].as_array().map(Vec::len), Some(1));
        fs::write(Recording::path(&folder, 5), "{}").unwrap();
        assert!(Recording::load(&folder, 5).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
