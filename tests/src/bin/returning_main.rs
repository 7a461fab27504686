//! A program whose `main` returns, for tests: its first argument says what.

use std::error::Error;
use std::fmt;
use std::process::{ExitCode, Termination};
use std::rc::Rc;

/// An error whose two texts differ.
#[derive(Debug)]
struct Failure;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it has failed")
    }
}

impl Error for Failure {}

/// Whether the error is wanted.
fn fails() -> bool {
    std::env::args().nth(2).is_some()
}

#[gossamer::main]
fn boxed() -> Result<(), Box<dyn Error>> {
    let number: u64 = gossamer::spawn(|| 7).join();
    println!("a fiber returned {number}");
    if fails() {
        return Err(Failure.into());
    }
    Ok(())
}

#[gossamer::main]
fn sendable() -> Result<(), Box<dyn Error + Send + Sync>> {
    if fails() {
        return Err(Failure.into());
    }
    Ok(())
}

#[gossamer::main]
fn text() -> Result<ExitCode, String> {
    if fails() { Err("it has\nfailed".into()) } else { Ok(ExitCode::from(3)) }
}

#[gossamer::main]
fn of_one_thread() -> Result<(), Rc<Failure>> {
    if fails() { Err(Rc::new(Failure)) } else { Ok(()) }
}

#[gossamer::main]
fn code() -> ExitCode {
    ExitCode::from(if fails() { 9 } else { 0 })
}

#[gossamer::main]
fn never() -> ! {
    std::process::exit(if fails() { 8 } else { 0 })
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("boxed") => boxed().report(),
        Some("sendable") => sendable().report(),
        Some("text") => text().report(),
        Some("of one thread") => of_one_thread().report(),
        Some("code") => code(),
        _ => never(),
    }
}
