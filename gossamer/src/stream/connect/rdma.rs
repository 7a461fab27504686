//! How two ends prepare RDMA, over the connection that there is, until both can be read from and read.
//!
//! ```text
//! each says    the ports that it offers
//! each says    its queue pair, the sender also where its ring is
//! each says    that it is connected
//! ```
//!
//! Either may say why it cannot, instead: then both know, and take another route, or fail by that reason.

use crate::fabric::verbs::choice::encoding;
use crate::fabric::verbs::choice::pairs::{PortPair, pairs};
use crate::fabric::verbs::choice::settings::VerbsSettings;
use crate::fabric::verbs::context::DeviceList;
use crate::fabric::verbs::memory::RegionAccess;
use crate::fabric::verbs::reads::end::{ReadEnd, ReadPath};
use crate::fabric::verbs::reads::parameters::ReadParameters;
use crate::fabric::verbs::reads::queue::ReadQueue;
use crate::fabric::verbs::survey::{Survey, survey};
use crate::stream::blocks::ring::Ring;
use crate::stream::connect::statement::{Statement, exchange};
use crate::stream::error::End;
use crate::transport::socket::Socket;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How long the other end may take for a step: it pins its ring, which may be large.
const PATIENCE: Duration = Duration::from_secs(60);

/// Both ends are connected.
pub(crate) enum Ready {
    /// The other end reads the ring.
    Source(ReadEnd),
    /// This one reads.
    Target(ReadQueue),
}

/// What the environment says of RDMA.
///
/// # Errors
/// What is wrong with it.
fn settings() -> Result<VerbsSettings, String> {
    VerbsSettings::find(&|name| std::env::var(name).ok())
}

/// What there is on this machine.
fn find(settings: &VerbsSettings) -> Result<Survey, String> {
    let list = DeviceList::get().map_err(|why| why.to_string())?;
    survey(&list, settings).map_err(|why| why.to_string())
}

/// Whether an end that may use RDMA can begin: its settings make sense; and if it may use nothing else, there is a port.
///
/// # Errors
/// Why not.
pub(crate) fn check(is_all: bool) -> Result<(), String> {
    let settings = settings()?;
    if is_all { find(&settings).map(drop) } else { Ok(()) }
}

/// Prepares one end; `number` is 0 for that which connects. Or says why it cannot be: both ends hear that.
///
/// # Errors
/// The other end is gone, or says what makes no sense.
pub(crate) fn prepare(
    socket: &mut Socket,
    number: usize,
    end: End,
    ring: &Arc<Ring>,
) -> io::Result<Result<Ready, String>> {
    socket.set_patience(PATIENCE)?;
    let found = settings().and_then(|settings| Ok((find(&settings)?, settings)));
    let ours = found.as_ref().map(|(found, _)| encoding::to_bytes(&found.offers)).map_err(Clone::clone);
    let theirs = match (exchange(socket, &ours)?, &found) {
        (Ok(bytes), Ok(_)) => encoding::from_bytes(&bytes).ok_or_else(malformed)?,
        (theirs, ours) => return Ok(Err(reason(ours.as_ref().err(), theirs.err()))),
    };
    let Ok((found, settings)) = found else { unreachable!("it was returned above") };
    let both = if number == 0 { pairs(&found.offers, &theirs) } else { pairs(&theirs, &found.offers) };
    // Both ends find the same.
    let pair = match both.map(|pairs| pairs.into_iter().next()) {
        Ok(Some(pair)) => pair,
        Ok(None) => return Ok(Err("no port reaches one of the other end".into())),
        Err(why) => return Ok(Err(why)),
    };
    let ours = read_end(&found, &pair, number, end, ring).map_err(|error| error.to_string());
    let said: Statement = match &ours {
        Ok(ours) => Ok(ours.parameters().to_bytes().into()),
        Err(why) => Err(why.clone()),
    };
    let (ours, theirs) = match (ours, exchange(socket, &said)?) {
        (Ok(ours), Ok(bytes)) => (ours, ReadParameters::from_bytes(&bytes).ok_or_else(malformed)?),
        (ours, theirs) => return Ok(Err(reason(ours.err().as_ref(), theirs.err()))),
    };
    let path = ReadPath { address: pair.way(number, &settings), mtu: pair.mtu };
    let ready = connected(ours, &theirs, path, &settings, end).map_err(|error| error.to_string());
    let said = ready.as_ref().map(|_| Vec::new()).map_err(Clone::clone);
    match (ready, exchange(socket, &said)?) {
        (Ok(ready), Ok(_)) => Ok(Ok(ready)),
        (ours, theirs) => Ok(Err(reason(ours.err().as_ref(), theirs.err()))),
    }
}

/// The end of this side: the sender's lets its ring be read, and that is all that anybody may do.
fn read_end(
    found: &Survey,
    pair: &PortPair,
    number: usize,
    end: End,
    ring: &Arc<Ring>,
) -> io::Result<ReadEnd> {
    let port = &pair.ends[number];
    let device = found.devices.iter().find(|device| device.name() == port.device);
    let device = device.ok_or_else(|| io::Error::other(format!("RDMA device {} is gone", port.device)))?;
    let access = match end {
        End::Sender => RegionAccess::RemoteRead,
        End::Receiver => RegionAccess::ReadTarget,
    };
    ReadEnd::new(device, port.port, ring.clone(), access)
}

fn connected(
    ours: ReadEnd,
    theirs: &ReadParameters,
    path: ReadPath,
    settings: &VerbsSettings,
    end: End,
) -> io::Result<Ready> {
    ours.connect(theirs, path, settings)?;
    match end {
        End::Sender => Ok(Ready::Source(ours)),
        End::Receiver => ReadQueue::new(ours, theirs).map(Ready::Target),
    }
}

/// Why not, of one end or both.
fn reason(ours: Option<&String>, theirs: Option<String>) -> String {
    let ours = ours.map(|why| format!("here: {why}"));
    let theirs = theirs.map(|why| format!("at the other end: {why}"));
    ours.into_iter().chain(theirs).collect::<Vec<_>>().join("; ")
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "what the other end says of RDMA makes no sense")
}
