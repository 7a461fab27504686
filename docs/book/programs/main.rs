//! All programs of the book in one binary, so that it is linked once. `BOOK_PROGRAM` says which one it is to be.

use std::env;
use std::process::{ExitCode, Termination};

include!(concat!(env!("OUT_DIR"), "/programs.rs"));

/// The exit status of a program, whatever its `main` returns.
fn report<R: Termination>(main: fn() -> R) -> ExitCode {
    main().report()
}

fn main() -> ExitCode {
    let name = env::var("BOOK_PROGRAM").unwrap_or_default();
    match PROGRAMS.iter().find(|(program, _)| *program == name) {
        Some((_, program)) => program(),
        None => {
            eprintln!("BOOK_PROGRAM is none of the programs in the book: {name:?}");
            ExitCode::from(2)
        }
    }
}
