//! The programs of this machine that can be inspected: finding them, and asking all of them.

use crate::exit::{FAILED, Failure, UNREACHABLE};
use gossamer::inspect::{InspectionSocket, inspection_sockets};
use std::fs;
use std::io;
use std::path::Path;
use std::thread;

/// A process that did not answer.
pub type Silent = (InspectionSocket, io::Error);

/// The sockets of these processes, or of all processes of this user if no process is given.
///
/// # Errors
/// If one of these processes has no socket, or no process has one.
pub fn chosen(processes: &[u32]) -> Result<Vec<InspectionSocket>, Failure> {
    let mut sockets = inspection_sockets()
        .map_err(|error| Failure::new(UNREACHABLE, format!("cannot look for programs: {error}")))?;
    sockets.retain(|socket| processes.is_empty() || processes.contains(&socket.process));
    let is_missing = |process: &&u32| sockets.iter().all(|socket| socket.process != **process);
    if let Some(process) = processes.iter().find(is_missing) {
        let ended = if is_alive(*process) { "" } else { ": there is no such process" };
        return Err(Failure::new(
            FAILED,
            format!(
                "no such program: process {process} is no program of this user that runs on gossamer on this machine, or it \
                 has ended{ended}"
            ),
        ));
    }
    match sockets.is_empty() {
        true => Err(Failure::new(FAILED, "no program of this user runs on gossamer on this machine")),
        false => Ok(sockets),
    }
}

/// Asks all at once, so that a stopped one does not hold up the others. Returns the answers, and the processes that did
/// not answer; of these, a process that has ended meanwhile is left out, unless processes were given.
pub fn ask_all<T: Send>(
    sockets: &[InspectionSocket],
    are_named: bool,
    ask: impl Fn(&InspectionSocket) -> io::Result<Vec<T>> + Sync,
) -> (Vec<T>, Vec<Silent>) {
    let ask = &ask;
    let answers = thread::scope(|scope| {
        let asked: Vec<_> = sockets.iter().map(|socket| scope.spawn(move || ask(socket))).collect();
        let panicked = |_| Err(io::Error::other("it could not be asked"));
        asked.into_iter().map(|asked| asked.join().unwrap_or_else(panicked)).collect::<Vec<_>>()
    });
    let (mut all, mut silent) = (Vec::new(), Vec::new());
    for (socket, answer) in sockets.iter().zip(answers) {
        match answer {
            Ok(some) => all.extend(some),
            Err(error) if are_named || is_alive(socket.process) => silent.push((socket.clone(), error)),
            Err(_) => {}
        }
    }
    (all, silent)
}

/// The message that a process does not answer, with the reason, as far as the kernel knows it.
pub fn told((socket, error): &Silent) -> String {
    let process = socket.process;
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = status.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    let why = match state {
        None => "it has ended meanwhile".to_owned(),
        Some('T' | 't') => "it is stopped, by a signal or a debugger (kill -CONT resumes it)".to_owned(),
        Some('Z') => "it has ended, and its parent has not noticed yet".to_owned(),
        Some(_) => error.to_string(),
    };
    format!("process {process} does not answer: {why}")
}

fn is_alive(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}
