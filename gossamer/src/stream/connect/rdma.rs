//! How two ends prepare RDMA over the existing connection, until one has read something from the other.
//!
//! ```text
//! each says    the ports that it offers
//! each says    its queue pair, the sender also where its ring is
//! each says    that it is connected
//! each says    (the receiver once it has read something) that blocks can be read
//! ```
//!
//! Either may instead say why it cannot: then both know, and take another route or fail with that reason.

use crate::fabric::verbs::choice::pairs::pairs;
use crate::fabric::verbs::choice::settings::VerbsSettings;
use crate::fabric::verbs::memory::RegionAccess;
use crate::fabric::verbs::reads::end::{ReadEnd, ReadPath};
use crate::fabric::verbs::reads::queue::ReadQueue;
use crate::fabric::verbs::survey::{Survey, survey_machine};
use crate::stream::blocks::ring::Ring;
use crate::stream::connect::statement::exchange;
use crate::stream::error::End;
use crate::transport::socket::Socket;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the other end may take for a step: it pins its ring, which may be large.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes that are read as a test: more than a packet.
const PROBE: usize = 4096;
/// How long the test may take.
const PROBE_TIME: Duration = Duration::from_secs(8);

/// Blocks can be read.
pub(crate) enum Prepared {
    /// By the other end, from the ring.
    Source(ReadEnd),
    /// By this one, into it.
    Target(ReadQueue),
}

/// The RDMA ports of this machine.
///
/// # Errors
/// Nothing that can be used: why.
pub(crate) fn find() -> Result<Survey, String> {
    survey_machine(&settings()?).map_err(|why| why.to_string())
}

/// The settings of RDMA in the environment.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn settings() -> Result<VerbsSettings, String> {
    VerbsSettings::find(&|name| std::env::var(name).ok())
}

/// Prepares one end; `number` is 0 for the end that connects. If that is impossible, both ends learn why.
///
/// # Errors
/// The other end is gone, or says what makes no sense.
pub(crate) fn prepare(
    socket: &mut Socket,
    number: usize,
    end: End,
    ring: &Arc<Ring>,
) -> io::Result<Result<Prepared, String>> {
    socket.set_patience(PATIENCE)?;
    let found = find();
    let offers = found.as_ref().map(|found| found.offers.clone()).map_err(Clone::clone);
    let (found, theirs) = match step(found, exchange(socket, offers)?) {
        Ok(both) => both,
        Err(why) => return Ok(Err(why)),
    };
    // Both ends find the same.
    let both = if number == 0 { pairs(&found.offers, &theirs) } else { pairs(&theirs, &found.offers) };
    let pair = match both.map(|pairs| pairs.into_iter().next()) {
        Ok(Some(pair)) => pair,
        Ok(None) => return Ok(Err("no port reaches one of the other end".into())),
        Err(why) => return Ok(Err(why)),
    };
    let port = &pair.ends[number];
    let ours = read_end(&found, &port.device, port.port, end, ring);
    let parameters = ours.as_ref().map(ReadEnd::parameters).map_err(Clone::clone);
    let (ours, theirs) = match step(ours, exchange(socket, parameters)?) {
        Ok(both) => both,
        Err(why) => return Ok(Err(why)),
    };
    let path = ReadPath { address: pair.way(number, &found.settings), mtu: pair.mtu };
    let connected = ours.connect(&theirs, path, &found.settings).map_err(said);
    if let Err(why) = agree(socket, connected)? {
        return Ok(Err(why));
    }
    let prepared = match end {
        End::Sender => Ok(Prepared::Source(ours)),
        End::Receiver => probed(ReadQueue::new(ours, &theirs)).map(Prepared::Target),
    };
    agree(socket, prepared)
}

/// What both sides have, or why one has nothing.
fn step<T, U>(ours: Result<T, String>, theirs: Result<U, String>) -> Result<(T, U), String> {
    let here = |why| format!("here: {why}");
    let there = |why| format!("at the other end: {why}");
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => Ok((ours, theirs)),
        (Err(ours), Ok(_)) => Err(here(ours)),
        (Ok(_), Err(theirs)) => Err(there(theirs)),
        (Err(ours), Err(theirs)) => Err(format!("{}; {}", here(ours), there(theirs))),
    }
}

/// What this end has, if the other one has that, too.
fn agree<T>(socket: &mut Socket, ours: Result<T, String>) -> io::Result<Result<T, String>> {
    let said: Result<(), String> = ours.as_ref().map(|_| ()).map_err(Clone::clone);
    Ok(step(ours, exchange(socket, said)?).map(|(ours, ())| ours))
}

fn said(error: io::Error) -> String {
    error.to_string()
}

/// This end: the sender allows reads of its ring, and nothing else.
fn read_end(found: &Survey, name: &str, port: u8, end: End, ring: &Arc<Ring>) -> Result<ReadEnd, String> {
    let device = found.devices.iter().find(|device| device.name() == name);
    let device = device.ok_or_else(|| format!("RDMA device {name} is gone"))?;
    let access = match end {
        End::Sender => RegionAccess::RemoteRead,
        End::Receiver => RegionAccess::ReadTarget,
    };
    ReadEnd::new(device, port, ring.clone(), access).map_err(said)
}

/// Reads something that nobody refers to yet: the network may not allow it.
fn probed(queue: io::Result<ReadQueue>) -> Result<ReadQueue, String> {
    let mut queue = queue.map_err(said)?;
    let outcome = queue.begin(0..PROBE).and_then(|()| queue.await_part(Instant::now() + PROBE_TIME));
    outcome.map_err(|failure| failure.why)?;
    Ok(queue)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Geometry;
    use std::os::unix::net::UnixStream;
    use std::process::Command;
    use std::thread;

    const EXPECTED: &str = "RDMA_EXPECTED";
    /// A port that can be used.
    const PORT: &str = "port=1 gid=1:v2:192.0.2.1";

    /// How both ends, the sender first, find that blocks can be read, or why they cannot be.
    fn prepared() -> [Result<(), String>; 2] {
        let (near, far) = UnixStream::pair().unwrap();
        let ring = || Arc::new(Ring::create(Geometry::new().block(1 << 16).ahead(2)).unwrap());
        let end = |socket, number, end| {
            let ring = ring();
            // Both ends stay until both have what they prepared.
            move || prepare(&mut Socket::Unix(socket), number, end, &ring).unwrap()
        };
        let receiver = thread::spawn(end(near, 0, End::Receiver));
        let sender = end(far, 1, End::Sender)();
        [sender, receiver.join().unwrap()].map(|prepared| prepared.map(drop))
    }

    #[test]
    fn both_ends_can_have_blocks_read_or_both_know_why_not() {
        if let Ok(expected) = std::env::var(EXPECTED) {
            for outcome in prepared() {
                match outcome {
                    Ok(()) => assert_eq!(expected, ""),
                    Err(why) => assert!(why.contains(&expected) && !expected.is_empty(), "{why}"),
                }
            }
            return;
        }
        let library = std::env::current_exe().unwrap().with_file_name("libverbs_sim.so");
        for (device, expected) in [
            (format!("sim0 {PORT}"), ""),
            ("none".into(), "no RDMA device"),
            ("denied".into(), "no permission to open RDMA device"),
            ("sim0 port=1 state=down gid=1:v2:192.0.2.1".into(), "sim0:1 is down"),
            (
                format!("sim0 memlock=65536 {PORT}"),
                "262144 bytes cannot be pinned; the limit of locked memory is",
            ),
            (format!("sim0 memlock=65536 {PORT}"), "`ulimit -l`"),
            (format!("sim0 max_qp=0 {PORT}"), "ibv_create_qp"),
            (format!("sim0 max_rd_atomic=0 {PORT}"), "takes no READ"),
            (format!("sim0 {PORT} unreachable=192.0.2.1"), "to state RTR"),
            (format!("sim0 fault=1:12 {PORT}"), "READ: retries exceeded"),
            (format!("sim0 fault=1:fatal {PORT}"), "RDMA device sim0: "),
            (format!("sim0 endless fault=1:down {PORT}"), "READ: no answer in time"),
        ] {
            let mut child = Command::new(std::env::current_exe().unwrap());
            child.args(["both_ends_can_have_blocks_read_or_both_know_why_not", "--nocapture"]);
            child.env("GOSSAMER_VERBS_RETRY", if device.contains("endless") { "7" } else { "6" });
            child.env(EXPECTED, expected).env("VERBS_SIM", &device).env("LD_PRELOAD", &library);
            let output = child.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{device}: {said}");
            assert!(String::from_utf8_lossy(&output.stdout).contains("running 1 test"));
        }
    }
}
