//! A virtual machine that is thrown away after each use, with a real RDMA stack: the kernel's RDMA over Ethernet in software.

mod archive;
pub(crate) mod arguments;
mod bench;
mod guest;
mod image;
mod job;
mod kernel;
mod loader;
mod packages;
pub(crate) mod programs;
mod scenario;
mod session;

use crate::failure::Result;
use arguments::{Action, MachineArguments, RunArguments, TestArguments};
use image::Image;
use job::Job;
use session::Session;
use std::time::{Duration, Instant};

/// Does what the command line says; the exit status.
pub(crate) fn run(action: &Action) -> Result<u8> {
    match action {
        Action::Prepare => Image::prepare().map(|image| {
            println!("{}", image.folder().display());
            0
        }),
        Action::Run(arguments) => run_command(arguments),
        Action::Test(arguments) => run_scenarios(arguments),
        Action::Bench(arguments) => bench::run(arguments),
        Action::List => {
            scenario::ALL.iter().for_each(|scenario| println!("{:16} {}", scenario.name, scenario.about));
            Ok(0)
        }
    }
}

fn run_command(arguments: &RunArguments) -> Result<u8> {
    let image = Image::get()?;
    let script = arguments.command.join(" ");
    let mut job = Job::new(&image, &script)?;
    arguments.files.iter().try_for_each(|file| job.add_file(&file.source, file.target.as_deref()))?;
    let peer = match &arguments.peer {
        Some(script) => {
            let mut peer = Job::new(&image, script)?;
            arguments
                .files
                .iter()
                .try_for_each(|file| peer.add_file(&file.source, file.target.as_deref()))?;
            Some(peer)
        }
        None => None,
    };
    session(&image, &arguments.machine).run(job, peer)
}

fn session<'a>(image: &'a Image, machine: &'a MachineArguments) -> Session<'a> {
    Session { image, machine, limit: Duration::from_secs(machine.timeout) }
}

/// Runs all scenarios one after another, whichever fail; returns the status of the first that failed. A scenario during
/// which QEMU crashed is run once more.
fn run_scenarios(arguments: &TestArguments) -> Result<u8> {
    let chosen = scenario::chosen(&arguments.scenarios)?;
    let begin = Instant::now();
    let image = Image::get()?;
    let programs = programs::build(&chosen, arguments.workspace)?;
    println!("=== prepared in {:.1} s", begin.elapsed().as_secs_f64());
    let mut status = 0;
    for scenario in chosen {
        println!("\n=== {}: {}", scenario.name, scenario.about);
        let since = Instant::now();
        let run = || scenario.run(&session(&image, &arguments.machine), &programs);
        let found = run().or_else(|failure| {
            eprintln!("{failure}");
            if failure.is_of_emulator() { run() } else { Err(failure) }
        });
        let found = found.unwrap_or_else(|failure| {
            eprintln!("{failure}");
            failure.status
        });
        let (seconds, is_right) = (since.elapsed().as_secs_f64(), found == scenario.status);
        let result = if is_right { "ok" } else { "FAILED" };
        println!("=== {}: {result}, status {found}, {seconds:.1} s", scenario.name);
        if !is_right && status == 0 {
            status = found.max(1);
        }
    }
    Ok(status)
}
