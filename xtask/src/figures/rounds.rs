//! Measurements in turn, so that whatever else the machine does affects all of them alike.

use super::arguments::Effort;
use super::interruption::Interruption;
use super::others::{self, Others};
use super::recording::{Machine, Recording, Sample};
use crate::failure::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

/// A measurement that has failed this often is not repeated any more.
const FAILURES: usize = 2;

/// What a measurement has found out about one point of a figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reading {
    pub(super) figure: u8,
    pub(super) panel: usize,
    pub(super) series: String,
    pub(super) label: String,
    pub(super) x: f64,
    pub(super) y: f64,
}

/// A measurement, which may have results for several figures.
pub(super) struct Job<'a> {
    pub(super) name: String,
    pub(super) figures: Vec<u8>,
    pub(super) measure: Box<dyn Fn() -> Result<Vec<Reading>> + 'a>,
}

impl<'a> Job<'a> {
    pub(super) fn new(
        name: impl Into<String>,
        figures: &[u8],
        measure: impl Fn() -> Result<Vec<Reading>> + 'a,
    ) -> Self {
        Self { name: name.into(), figures: figures.to_vec(), measure: Box::new(measure) }
    }
}

/// The recordings under way, each saved whenever something was added.
pub(super) struct Rounds<'a> {
    pub(super) effort: Effort,
    pub(super) interruption: &'a Interruption,
    folder: &'a Path,
    recordings: BTreeMap<u8, Recording>,
    /// How many rounds of each figure were recorded before.
    kept: BTreeMap<u8, usize>,
}

impl<'a> Rounds<'a> {
    /// Of these figures.
    pub(super) fn new(
        effort: Effort,
        interruption: &'a Interruption,
        folder: &'a Path,
        figures: impl Iterator<Item = u8>,
    ) -> Self {
        let machine = Machine::found();
        let recordings =
            figures.map(|figure| (figure, Recording::new(figure, effort.name, machine.clone()))).collect();
        Self { effort, interruption, folder, recordings, kept: BTreeMap::new() }
    }

    /// Goes on with what is recorded in the folder.
    ///
    /// # Errors
    /// A recording cannot be read.
    pub(super) fn resume(&mut self) -> Result<()> {
        for (figure, recording) in &mut self.recordings {
            let before = Recording::load(self.folder, *figure)?;
            if let Some(before) =
                before.and_then(|before| before.resumed(&recording.effort, &recording.machine))
            {
                self.kept.insert(*figure, before.rounds);
                *recording = before;
            }
        }
        Ok(())
    }

    fn kept(&self, figure: u8) -> usize {
        self.kept.get(&figure).copied().unwrap_or(0)
    }

    /// Whether rounds of a figure are to be measured.
    fn is_open(&self, figure: u8) -> bool {
        self.recordings.contains_key(&figure) && self.kept(figure) < self.effort.rounds
    }

    /// Whether one of these is wanted, and no signal has come.
    pub(super) fn want(&self, figures: &[u8]) -> bool {
        !self.interruption.has_come() && figures.iter().any(|figure| self.is_open(*figure))
    }

    /// Notes for these figures that something cannot be measured.
    pub(super) fn miss(&mut self, figures: &[u8], what: &str, why: &str) {
        eprintln!("missing: {what}: {why}");
        for figure in figures {
            if let Some(recording) = self.recordings.get_mut(figure) {
                recording.miss(what, why);
            }
        }
    }

    /// Makes each measurement once per round. Figures for which there are no measurements stay as they are.
    ///
    /// # Errors
    /// A recording cannot be written.
    pub(super) fn run(&mut self, jobs: Vec<Job<'_>>) -> Result<()> {
        let mut jobs: Vec<(Job<'_>, usize)> =
            jobs.into_iter().filter(|job| self.want(&job.figures)).map(|job| (job, 0)).collect();
        if jobs.is_empty() {
            return Ok(());
        }
        let figures: BTreeSet<u8> = jobs.iter().flat_map(|(job, _)| job.figures.clone()).collect();
        let figures: Vec<u8> = figures.into_iter().filter(|figure| self.is_open(*figure)).collect();
        // Until all is measured, so that a round that was cut off is told from a whole one.
        self.mark(&figures, true);
        let first = figures.iter().map(|figure| self.kept(*figure)).min().unwrap_or(0) + 1;
        eprintln!(
            "figures {figures:?}: {} measurements, rounds {first} to {}",
            jobs.len(),
            self.effort.rounds
        );
        let begun = Instant::now();
        for round in first..=self.effort.rounds {
            for (job, failures) in &mut jobs {
                if self.interruption.has_come() || *failures == FAILURES {
                    continue;
                }
                eprintln!("round {round} of {}: {}", self.effort.rounds, job.name);
                match self.undisturbed(job) {
                    Ok((readings, others)) => self.add(round, &readings, others),
                    Err(_) if self.interruption.has_come() => continue,
                    Err(failure) => {
                        *failures += 1;
                        self.miss(&job.figures, &job.name, &failure.to_string());
                    }
                }
                self.save(&job.figures)?;
            }
            let (made, left) = (round + 1 - first, self.effort.rounds - round);
            if left > 0 && !self.interruption.has_come() {
                let minutes = begun.elapsed().as_secs_f64() / 60.0 * left as f64 / made as f64;
                eprintln!("figures {figures:?}: about {minutes:.1} minutes more");
            }
        }
        self.mark(&figures, self.interruption.has_come());
        self.save(&figures)
    }

    fn mark(&mut self, figures: &[u8], interrupted: bool) {
        for figure in figures {
            if let Some(recording) = self.recordings.get_mut(figure) {
                recording.interrupted = interrupted;
            }
        }
    }

    /// The attempt that other programs have disturbed least, and their share. A failed attempt is the last one.
    fn undisturbed(&self, job: &Job<'_>) -> Result<(Vec<Reading>, f64)> {
        let attempt = || {
            others::wait_for_quiet(self.effort.patience);
            let others = Others::watch();
            let readings = (job.measure)()?;
            Ok((readings, others.share()))
        };
        let mut best = attempt()?;
        for _ in 1..self.effort.attempts {
            if !others::disturbs(best.1) || self.interruption.has_come() {
                break;
            }
            let next = attempt()?;
            if next.1 < best.1 {
                best = next;
            }
        }
        Ok(best)
    }

    fn add(&mut self, round: usize, readings: &[Reading], others: f64) {
        for Reading { figure, panel, series, label, x, y } in readings {
            if round <= self.kept(*figure) {
                continue;
            }
            if let Some(recording) = self.recordings.get_mut(figure) {
                let disturbed = others::disturbs(others);
                recording.add(*panel, series, label, Sample { round, x: *x, y: *y, others, disturbed });
                recording.rounds = recording.rounds.max(round);
            }
        }
    }

    fn save(&self, figures: &[u8]) -> Result<()> {
        figures
            .iter()
            .filter_map(|figure| self.recordings.get(figure))
            .try_for_each(|recording| recording.save(self.folder))
    }
}

#[cfg(test)]
mod tests {
    use super::super::arguments::Effort;
    use super::*;
    use crate::failure::Failure;
    use std::cell::Cell;

    fn reading(figure: u8, y: f64) -> Vec<Reading> {
        let (series, label) = ("gossamer".to_owned(), "first".to_owned());
        vec![Reading { figure, panel: 0, series, label, x: 1.0, y }]
    }

    #[test]
    fn what_is_measured_is_kept_and_what_fails_is_told() {
        let folder = std::env::temp_dir().join(format!("rounds-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let interruption = Interruption::default();
        let effort = Effort { rounds: 3, attempts: 1, ..Effort::QUICK };
        let mut rounds = Rounds::new(effort, &interruption, &folder, [4, 5].into_iter());
        let (made, failed) = (Cell::new(0.0), Cell::new(0));
        let jobs = vec![
            Job::new("good", &[4, 6], || {
                made.set(made.get() + 1.0);
                Ok([reading(4, made.get()), reading(6, 1.0)].concat())
            }),
            Job::new("bad", &[4], || {
                failed.set(failed.get() + 1);
                Err(Failure::new("out of order"))
            }),
            Job::new("unwanted", &[6], || panic!("nobody wants it")),
        ];
        rounds.run(jobs).unwrap();
        assert_eq!((made.get(), failed.get()), (3.0, FAILURES));
        let found = Recording::load(&folder, 4).unwrap().unwrap();
        let y: Vec<f64> = found.series[0].points[0].samples.iter().map(|sample| sample.y).collect();
        assert_eq!(y, [1.0, 2.0, 3.0]);
        assert_eq!((found.missing.len(), found.rounds), (1, 3));
        assert_eq!(found.missing[0].why, "out of order");
        assert_eq!([5, 6].map(|figure| Recording::load(&folder, figure).unwrap()), [None, None]);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn whole_rounds_are_not_measured_again() {
        let folder = std::env::temp_dir().join(format!("resumed-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let interruption = Interruption::default();
        let effort = Effort { rounds: 3, attempts: 1, ..Effort::QUICK };
        let made = Cell::new(0.0);
        let measure = |rounds: &mut Rounds<'_>| {
            let job = Job::new("good", &[4], || {
                made.set(made.get() + 1.0);
                Ok(reading(4, made.get()))
            });
            rounds.run(vec![job]).unwrap();
        };
        let fresh = || Rounds::new(effort, &interruption, &folder, [4].into_iter());
        measure(&mut fresh());
        // As if it had been cut off in its last round.
        let mut recording = Recording::load(&folder, 4).unwrap().unwrap();
        recording.interrupted = true;
        recording.save(&folder).unwrap();
        for _ in 0..2 {
            let mut rounds = fresh();
            rounds.resume().unwrap();
            measure(&mut rounds);
        }
        let found = Recording::load(&folder, 4).unwrap().unwrap();
        let y: Vec<f64> = found.series[0].points[0].samples.iter().map(|sample| sample.y).collect();
        assert_eq!((y, found.rounds, found.interrupted), (vec![1.0, 2.0, 4.0], 3, false));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
