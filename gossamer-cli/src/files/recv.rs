//! `gossamer recv`.

use crate::exit::{FAILED, Failure, LOST, UNREACHABLE};
use crate::files::arguments::Recv;
use crate::files::code::{Code, stream_key};
use crate::files::door::Door;
use crate::files::incoming::{Incoming, Target};
use crate::files::link::Link;
use crate::files::manifest::{Entry, Kind, Manifest};
use crate::files::message::{Answer, Answered, BATCH, Hello, PROTOCOL, Said};
use crate::files::show::Show;
use crate::files::tree::{Found, Tree};
use crate::key::Key;
use gossamer::stream::{self, Geometry, Options};
use nix::sys::signal::{SigSet, Signal};
use serde_json::json;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long the sender's stream may take to come, once it was told to.
const PATIENCE: Duration = Duration::from_secs(20);
/// Sizes of blocks that a sender may choose, and the memory that they take together.
pub const BLOCKS: std::ops::RangeInclusive<u32> = 64 << 10..=2 << 20;
const RING: usize = 16 << 20;

/// Does what the command line says.
///
/// # Errors
/// What stands against it.
pub fn run(arguments: &Recv) -> Result<u8, Failure> {
    // A limit on the size of files (`ulimit -f`) is one file's trouble: where the signal is blocked, a write says so.
    let mut limit = SigSet::empty();
    limit.add(Signal::SIGXFSZ);
    limit.thread_block().map_err(|error| Failure::new(FAILED, format!("cannot block a signal: {error}")))?;
    let target = target(arguments)?;
    let key = arguments.secret.key()?;
    let door = Door::open(&arguments.listen)?;
    let mut show = arguments.style.show();
    let key = announce(door.address(), key, &show)?;
    let outcome = receive(target, door, &key, &mut show);
    match outcome {
        Ok(files) => {
            show.end("received", files);
            Ok(if show.failures() > 0 { FAILED } else { 0 })
        }
        Err(failure) => show.failure(failure),
    }
}

/// The geometry of the stream, which both sides have.
#[must_use]
pub fn geometry(block: usize) -> Geometry {
    Geometry::new().block(block).comeback(0).ahead(RING / block.max(RING / 64) - 1)
}

fn target(arguments: &Recv) -> Result<Target, Failure> {
    if arguments.output.as_os_str() != "-" {
        return Tree::open(&arguments.output, arguments.overwrite).map(Target::Tree);
    }
    // Not Rust's standard output, which looks for line ends in everything.
    let output = io::stdout().as_fd().try_clone_to_owned();
    output
        .map(|output| Target::Output(File::from(output)))
        .map_err(|error| Failure::new(FAILED, format!("cannot use standard output: {error}")))
}

/// Tells the user what the sender needs, and returns the key that this means.
fn announce(address: SocketAddr, key: Option<Key>, show: &Show) -> Result<Key, Failure> {
    let address = match address.ip().is_unspecified() {
        true => format!("{}:{}", rustix::system::uname().nodename().to_string_lossy(), address.port()),
        false => address.to_string(),
    };
    let say = |code: Option<&str>, option: &str| {
        let event = json!({ "event": "waiting", "address": address, "code": code });
        show.tell(&event, &format!("waiting at {address}: gossamer send FILE… --to {address} {option}"));
    };
    match key {
        Some(key) => {
            say(None, "--rack");
            Ok(key)
        }
        None => {
            let code = Code::generate()?;
            say(Some(&code.to_string()), &format!("--code {code}"));
            Ok(code.key())
        }
    }
}

fn lost(error: &dyn std::fmt::Display) -> Failure {
    let what =
        format!("the sender was lost ({error}); what has arrived is kept: run both commands again to go on");
    Failure::new(LOST, what)
}

fn receive(target: Target, door: Door, key: &Key, show: &mut Show) -> Result<usize, Failure> {
    let address = door.address();
    let (mut link, hello) = door.wait(key, |from, left| {
        let event = json!({ "event": "turned away", "from": from.to_string(), "left": left });
        show.tell(
            &event,
            &format!("gossamer: {from} has a wrong code and was turned away; {left} more may come"),
        );
    })?;
    match take(target, address, key, &mut link, &hello, show) {
        Ok(files) => {
            // All is in its place, whether or not the sender hears it.
            let _told = link.send(&Answered::Finished);
            Ok(files)
        }
        Err(failure) => {
            let _told =
                link.send(&Answered::Stopped { status: failure.status, why: failure.message.clone() });
            Err(failure)
        }
    }
}

fn take(
    target: Target,
    address: SocketAddr,
    key: &Key,
    link: &mut Link,
    hello: &Hello,
    show: &mut Show,
) -> Result<usize, Failure> {
    let block = check_hello(hello)?;
    let (entries, missing) = manifest(link)?;
    if let Target::Output(_) = target
        && !matches!(&entries[..], [Entry { kind: Kind::File(_) | Kind::Pipe, .. }])
    {
        let what =
            format!("{} files or directories cannot go to standard output: one file can", entries.len());
        return Err(Failure::new(FAILED, what));
    }
    let found = look(&target, &entries, link, show)?;
    let sizes = entries.iter().all(|entry| entry.kind != Kind::Pipe);
    show.begin(sizes.then(|| entries.iter().map(Entry::bytes).sum()));
    let mut nonce = [0; 32];
    getrandom::fill(&mut nonce)
        .map_err(|error| Failure::new(FAILED, format!("the kernel gives no random bytes: {error}")))?;
    let mut stream = open_stream(address, key, &nonce, block, link)?;
    let mut incoming = Incoming::new(target, entries, found, block, link, show);
    while let Some(block) = stream.next_block().map_err(|error| lost(&error))? {
        incoming.take(&block)?;
    }
    let files = incoming.finish();
    if missing > 0 {
        show.fail("the sender", &format!("could not read {missing} of its files"));
    }
    Ok(files)
}

fn check_hello(hello: &Hello) -> Result<usize, Failure> {
    let Hello { protocol, version, block } = hello;
    if *protocol != PROTOCOL {
        let what = format!(
            "the sender is gossamer {version} (protocol {protocol}), the receiver is {} (protocol {PROTOCOL}); install \
             one version on both machines",
            env!("CARGO_PKG_VERSION"),
        );
        return Err(Failure::new(UNREACHABLE, what));
    }
    match block.is_power_of_two() && BLOCKS.contains(block) {
        true => Ok(*block as usize),
        false => {
            Err(Failure::new(FAILED, format!("the sender asks for impossible blocks, of {block} bytes")))
        }
    }
}

/// Everything that is to be sent, and how much the sender itself could not read.
fn manifest(link: &mut Link) -> Result<(Vec<Entry>, u32), Failure> {
    let mut manifest = Manifest::default();
    loop {
        match link.receive().map_err(|error| lost(&error))? {
            Said::Entries(entries) => manifest.add(entries).map_err(|what| {
                Failure::new(FAILED, format!("the sender's list of files is refused: {what}"))
            })?,
            Said::All { missing } => return Ok((manifest.into_entries(), missing)),
        }
    }
}

/// Looks what is there of each entry, and answers.
fn look(target: &Target, entries: &[Entry], link: &mut Link, show: &mut Show) -> Result<Vec<Found>, Failure> {
    let (mut found, mut behind) = (Vec::with_capacity(entries.len()), 0);
    for batch in entries.chunks(BATCH) {
        let batch: Vec<Found> = batch
            .iter()
            .map(|entry| match target {
                Target::Tree(tree) => {
                    let mut checked = 0;
                    let found = tree.look(entry, &mut |at| {
                        checked = at;
                        show.checked(behind + at);
                    });
                    behind += checked;
                    found
                }
                Target::Output(_) => Answer::Send.into(),
            })
            .collect();
        let answers = batch.iter().map(|found| found.answer.clone()).collect();
        link.send(&Answered::Answers(answers)).map_err(|error| lost(&error))?;
        found.extend(batch);
    }
    Ok(found)
}

/// Listens for the stream where the link came to, and tells the sender to come.
fn open_stream(
    address: SocketAddr,
    key: &Key,
    nonce: &[u8; 32],
    block: usize,
    link: &mut Link,
) -> Result<stream::Receiver, Failure> {
    let doing = |error: stream::Error| Failure::new(UNREACHABLE, format!("cannot receive: {error}"));
    let key = stream::Key::from_hex(&stream_key(key, nonce)).map_err(doing)?;
    let options = Options::from(geometry(block)).key(key);
    let listener = stream::Receiver::bind(address, options).map_err(doing)?;
    link.send(&Answered::Ready { nonce: *nonce }).map_err(|error| lost(&error))?;
    let (tell, told) = mpsc::channel();
    // In a thread of its own, because the wait has no end.
    let waiting = thread::Builder::new().spawn(move || tell.send(listener.accept()));
    waiting.map_err(|error| Failure::new(UNREACHABLE, format!("cannot receive: {error}")))?;
    match told.recv_timeout(PATIENCE) {
        Ok(stream) => stream.map_err(|error| lost(&error)),
        Err(_) => Err(lost(&"its stream did not come")),
    }
}
