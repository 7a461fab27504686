//! The evaluation: what the thesis shows in its figures 4 to 13, measured on this machine, beside comparable programs.

pub(crate) mod arguments;
mod axis;
mod benchmarks;
mod catalogue;
mod child;
mod client;
mod drawing;
mod graphs;
mod interruption;
mod machine;
mod others;
mod page;
mod programs;
mod queue_pairs;
mod recording;
mod requests;
mod rounds;
mod stores;
mod tree;

use crate::failure::{Context, Failure, Result};
use arguments::FiguresArguments;
use catalogue::FIGURES;
use interruption::Interruption;
use programs::Programs;
use recording::Recording;
use rounds::Rounds;
use std::fs;

/// The exit status after Ctrl-C, as in shells.
const INTERRUPTED: u8 = 130;

/// The figures for which programs are built.
const PROGRAMS: [u8; 8] = [4, 5, 6, 7, 8, 9, 10, 11];

/// Measures, draws, and writes tables. Returns the exit status.
pub(crate) fn run(arguments: &FiguresArguments) -> Result<u8> {
    let interruption = Interruption::watch()?;
    if !arguments.draw {
        fs::create_dir_all(&arguments.out).at(&arguments.out)?;
        let wanted = FIGURES.iter().map(|figure| figure.number).filter(|figure| arguments.wants(*figure));
        let mut rounds = Rounds::new(arguments.effort(), &interruption, &arguments.out, wanted);
        if arguments.resume {
            rounds.resume()?;
        }
        if rounds.want(&PROGRAMS) {
            let programs = Programs::build()?;
            requests::measure(&mut rounds, &programs)?;
            graphs::measure(&mut rounds, &programs, arguments.graph500_reference.as_deref())?;
            stores::measure(&mut rounds, &programs)?;
        }
        queue_pairs::measure(&mut rounds)?;
    }
    let mut recordings = Vec::new();
    for figure in FIGURES.iter().filter(|figure| arguments.wants(figure.number)) {
        if let Some(recording) = Recording::load(&arguments.out, figure.number)? {
            drawing::draw(figure, &recording, &arguments.out)?;
            recordings.push(recording);
        }
    }
    if recordings.is_empty() {
        return Err(Failure::new(format!("{}: nothing is recorded there", arguments.out.display())));
    }
    if let Some(page) = &arguments.page {
        page::update(page, &recordings)?;
    }
    println!("{} figures are in {}", recordings.len(), arguments.out.display());
    Ok(if interruption.has_come() { INTERRUPTED } else { 0 })
}
