//! One or two machines, from their start to the end of their commands.

use crate::failure::{Context, Failure, Result};
use crate::rdma_vm::arguments::MachineArguments;
use crate::rdma_vm::guest::{Ending, Guest, Place};
use crate::rdma_vm::image::Image;
use crate::rdma_vm::job::Job;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How often to check whether a machine has ended.
const LOOK: Duration = Duration::from_millis(20);
/// How many lines of the messages of kernel and QEMU are shown for a machine that failed.
const LAST_WORDS: usize = 30;

/// How to start machines.
pub(crate) struct Session<'a> {
    pub(crate) image: &'a Image,
    pub(crate) machine: &'a MachineArguments,
    pub(crate) limit: Duration,
}

impl Session<'_> {
    /// Runs a job in a machine; or two jobs, each in a machine of its own, joined by a link. Returns the exit status of
    /// the first one that failed.
    ///
    /// # Errors
    /// A machine did not start, did not end in time, or its kernel failed.
    pub(crate) fn run(&self, job: Job, peer: Option<Job>) -> Result<u8> {
        let mut guests = match peer {
            None => vec![self.start(job, Place { number: 1, link: None })?],
            Some(peer) => {
                let (near, far) = UnixStream::pair().context("the link between two machines")?;
                let first = self.start(job, Place { number: 1, link: Some(near) })?;
                vec![first, self.start(peer, Place { number: 2, link: Some(far) })?]
            }
        };
        self.await_all(&mut guests)?;
        let mut status = 0;
        for guest in guests {
            let found = self.status(guest.end()?)?;
            status = if status == 0 { found } else { status };
        }
        Ok(status)
    }

    fn start(&self, job: Job, place: Place) -> Result<Guest> {
        Guest::start(self.image, job, place, self.machine)
    }

    fn await_all(&self, guests: &mut [Guest]) -> Result<()> {
        let begin = Instant::now();
        for guest in guests {
            while !guest.has_ended()? {
                if begin.elapsed() > self.limit {
                    let (seconds, said) = (self.limit.as_secs(), last_lines(&guest.log()?));
                    return Err(Failure::timeout(format!(
                        "the machine was ended: its command took more than {seconds} s (--timeout)\n{said}"
                    )));
                }
                std::thread::sleep(LOOK);
            }
        }
        Ok(())
    }

    fn status(&self, ending: Ending) -> Result<u8> {
        let Some(status) = ending.status else {
            let said = last_lines(&ending.log);
            return Err(if ending.crashed {
                Failure::of_emulator(format!("QEMU has crashed:\n{said}"))
            } else {
                Failure::new(format!("the machine ended before its command did:\n{said}"))
            });
        };
        if self.machine.kernel_log {
            eprint!("{}", ending.log);
        }
        if let Some(seconds) = ending.boot {
            eprintln!("(the machine was ready after {seconds:.1} s)");
        }
        Ok(status)
    }
}

/// The last messages of kernel and QEMU.
fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LAST_WORDS)..].join("\n")
}
