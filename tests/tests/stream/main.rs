//! Memory streams: `gossamer::stream`, inside a process, between processes, and over TCP.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by it")]

mod raw;
mod safe;

use gossamer::stream::{self, Faults, Geometry, Options, Receiver, Sender};

/// Blocks of 64 KiB, four of them ahead: much happens with few bytes.
fn small() -> Geometry {
    Geometry::new().block(1 << 16).ahead(4).comeback(1)
}

fn pair(length: u64, options: impl Into<Options>) -> (Sender, Receiver) {
    stream::pair(length, options).unwrap()
}

/// The ways of faulting that there are here.
fn ways() -> Vec<Faults> {
    let userfault = pair(0, Options::new().geometry(small()).faults(Faults::Userfault)).0.into_window();
    match userfault {
        Ok(_) => vec![Faults::Signal, Faults::Userfault],
        Err(_) => vec![Faults::Signal],
    }
}
