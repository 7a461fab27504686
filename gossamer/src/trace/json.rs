//! The file's format: Chrome's trace events (Google, *Trace Event Format*), which Perfetto reads, too. There, a node is
//! a process, and a worker a thread.
//!
//! The JSON is written by hand. With the crate `serde_json` among the library's dependencies, `assert_eq!(numbers, [])`
//! no longer compiles, there and in programs that use it, since numbers could then be compared with two types.

use crate::counters::trace::EventKind;
use crate::trace::clock::{BatchName, BatchTimes, ClockOffset, batches, offsets};
use crate::trace::{NodeTrace, Track, TrackEvent};
use crate::worker::shared::Phase;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};

/// What was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) events: usize,
    pub(super) lost: u64,
    /// Nanoseconds by which the times of two nodes may be wrong, at most.
    pub(super) error: u64,
    /// Nodes whose clocks nothing is known of.
    pub(super) unknown: usize,
}

/// The number of the first thread that stands for threads that are not workers; others follow, one for each node.
const OUTSIDE: u64 = 1_000_000;

/// Where an event belongs.
#[derive(Clone, Copy)]
struct TrackHome {
    process: u64,
    thread: u64,
    offset: i64,
}

impl TrackHome {
    fn of(node: &NodeTrace, track: &Track, offset: Option<ClockOffset>) -> Self {
        let thread = track.worker.map_or(OUTSIDE + u64::from(node.node), |worker| u64::from(worker) + 1);
        // Trace viewers take process 0 for the idle one.
        Self {
            process: u64::from(node.node) + 1,
            thread,
            offset: offset.map_or(0, |offset| offset.nanoseconds),
        }
    }

    /// A local time, by the clock of the first node.
    fn common(self, time: u64) -> i64 {
        time.cast_signed().wrapping_add(self.offset)
    }
}

/// An event of the file: when it begins, how long it is, and its fields except the beginning.
type TraceLine = (i64, i64, String);

/// A string of JSON.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for char in self.0.chars() {
            match char {
                '"' | '\\' => write!(f, "\\{char}")?,
                '\0'..' ' => write!(f, "\\u{:04x}", u32::from(char))?,
                _ => write!(f, "{char}")?,
            }
        }
        f.write_str("\"")
    }
}

/// Nanoseconds, as the microseconds of the format.
struct Microseconds(i64);

impl fmt::Display for Microseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanoseconds = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
    }
}

/// A number, or `null`.
struct OrNull<T>(Option<T>);

impl<T: fmt::Display> fmt::Display for OrNull<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("null"),
        }
    }
}

/// Writes what nodes have kept, of one in this many batches, all by the clock of the first node.
pub(super) fn write(nodes: &[NodeTrace], every: u32, out: &mut impl Write) -> io::Result<Written> {
    let batches = batches(nodes);
    let offsets = offsets(nodes, &batches);
    let mut lines: Vec<TraceLine> = Vec::new();
    let mut homes = HashMap::new();
    let mut names = Vec::new();
    for (node, offset) in nodes.iter().zip(&offsets) {
        let process = u64::from(node.node) + 1;
        names.push(named("process_name", process, 0, &format!("node {}", node.node)));
        for track in &node.tracks {
            let home = TrackHome::of(node, track, *offset);
            let name = track.worker.map_or("streams, and what else no worker does".to_owned(), |worker| {
                format!("worker {worker}")
            });
            names.push(named("thread_name", process, home.thread, &name));
            homes.extend(track.worker.map(|worker| (worker, home)));
            let line = |event| Some(line(track, home, event, &batches));
            lines.extend(track.events.iter().filter_map(line).flatten());
        }
    }
    lines.extend(arrows(&batches, &homes));
    lines.sort_by_key(|(start, length, _)| (*start, Reverse(*length)));
    let first = lines.first().map_or(0, |(start, ..)| *start);
    let clocks = nodes.iter().zip(&offsets).map(|(node, offset)| {
        let lost: u64 = node.tracks.iter().map(|track| track.lost).sum();
        format!(
            r#"{{"node":{},"clock_offset_nanoseconds":{},"clock_error_nanoseconds":{},"lost_events":{lost}}}"#,
            node.node,
            OrNull(offset.map(|offset| offset.nanoseconds)),
            OrNull(offset.map(|offset| offset.error)),
        )
    });
    let clocks = clocks.collect::<Vec<_>>().join(",");
    let version = Quoted(env!("CARGO_PKG_VERSION"));
    let about = format!(r#"{{"version":{version},"every":{every},"nodes":[{clocks}]}}"#);
    write!(out, r#"{{"displayTimeUnit":"ns","otherData":{{"gossamer":{about}}},"traceEvents":["#)?;
    let events = lines.len();
    let timed = lines
        .into_iter()
        .map(|(start, _, line)| format!(r#"{{"ts":{},{line}}}"#, Microseconds(start.wrapping_sub(first))));
    for (index, line) in names.into_iter().chain(timed).enumerate() {
        out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        out.write_all(line.as_bytes())?;
    }
    out.write_all(b"\n]}\n")?;
    let mut errors: Vec<u64> = offsets.iter().flatten().map(|offset| offset.error).collect();
    errors.sort_unstable_by_key(|error| Reverse(*error));
    Ok(Written {
        events,
        lost: nodes.iter().flat_map(|node| &node.tracks).map(|track| track.lost).sum(),
        error: errors.iter().take(2).sum(),
        unknown: offsets.iter().filter(|offset| offset.is_none()).count(),
    })
}

fn named(what: &str, process: u64, thread: u64, name: &str) -> String {
    let name = Quoted(name);
    format!(r#"{{"ph":"M","name":"{what}","pid":{process},"tid":{thread},"args":{{"name":{name}}}}}"#)
}

/// An event, as a slice of its thread or as a moment.
fn line(
    track: &Track,
    home: TrackHome,
    event: &TrackEvent,
    batches: &HashMap<BatchName, BatchTimes>,
) -> Option<TraceLine> {
    let TrackEvent { peer, count, number, .. } = *event;
    let kind = event.kind()?;
    let own = || event.name.and_then(|name| track.names.get(name as usize)).cloned().unwrap_or_default();
    let batch = || format!(r#""worker":{peer},"batch":{number},"requests":{count}"#);
    let (category, name, arguments) = match kind {
        EventKind::Sent => ("request", format!("send to worker {peer}"), batch()),
        EventKind::Served => ("request", format!("serve worker {peer}: {}", own()), batch()),
        EventKind::Answered => {
            let sent = track.worker.and_then(|worker| batches.get(&(worker, peer, number))?.sent);
            let took = OrNull(sent.map(|sent| Microseconds(event.start.saturating_sub(sent).cast_signed())));
            let arguments = format!(r#"{},"round_trip_microseconds":{took}"#, batch());
            ("request", format!("answers of worker {peer}"), arguments)
        }
        EventKind::Turn => ("worker", "turn".to_owned(), String::new()),
        EventKind::Fiber => ("fiber", format!("fiber {}", own()), String::new()),
        EventKind::Sleep => ("worker", "sleep".to_owned(), String::new()),
        EventKind::Flush => ("worker", "flush".to_owned(), format!(r#""connections":{count}"#)),
        EventKind::BlocksHandedOver => ("stream", "blocks handed over".to_owned(), blocks(peer, number)),
        EventKind::BlocksReleased => ("stream", "blocks released".to_owned(), blocks(peer, number)),
        EventKind::Phase => ("end", format!("phase: {}", phase(number)), String::new()),
    };
    let start = home.common(event.start);
    let (process, thread) = (home.process, home.thread);
    let (length, form) = match kind {
        EventKind::Phase => (0, r#""ph":"i","s":"p""#.to_owned()),
        EventKind::BlocksHandedOver | EventKind::BlocksReleased => (0, r#""ph":"i","s":"t""#.to_owned()),
        _ => {
            // Arrows end in slices, which must have a length for that.
            let length = event.end.saturating_sub(event.start).max(1).cast_signed();
            (length, format!(r#""ph":"X","dur":{}"#, Microseconds(length)))
        }
    };
    let name = Quoted(&name);
    let place = format!(r#""cat":"{category}","pid":{process},"tid":{thread}"#);
    Some((start, length, format!(r#"{form},"name":{name},{place},"args":{{{arguments}}}"#)))
}

fn blocks(stream: u32, below: u64) -> String {
    format!(r#""stream":{stream},"below":{below}"#)
}

fn phase(number: u64) -> &'static str {
    match Phase::numbered(number as u8) {
        Phase::Running => "running",
        Phase::Draining => "fibers are cancelled, requests served",
        Phase::Dropping => "properties are dropped",
        Phase::Ended => "workers end",
    }
}

/// From where a batch was sent to where it was served, and back.
fn arrows(
    batches: &HashMap<BatchName, BatchTimes>,
    homes: &HashMap<u32, TrackHome>,
) -> impl Iterator<Item = TraceLine> {
    let arrow = |(id, ((client, trustee, _), times)): (usize, (&BatchName, &BatchTimes))| {
        let (client, trustee) = (homes.get(client), homes.get(trustee));
        let served = times.served.map(|(served, _)| served);
        let ends = [("s", client, times.sent), ("t", trustee, served), ("f", client, times.answered)];
        // An arrow without a beginning is not drawn: its beginning is no longer kept.
        let is_begun = times.sent.is_some() && (served.or(times.answered)).is_some();
        let ends = ends.into_iter().filter_map(move |(end, home, time)| Some((end, *home?, time?)));
        let ends = ends.filter(move |_| is_begun).map(move |(end, home, time): (&str, TrackHome, u64)| {
            let place = format!(r#""id":{},"pid":{},"tid":{}"#, id + 1, home.process, home.thread);
            let line = format!(r#""ph":"{end}","bp":"e","name":"request","cat":"request",{place}"#);
            (home.common(time), 0, line)
        });
        ends.collect::<Vec<_>>()
    };
    batches.iter().enumerate().flat_map(arrow).collect::<Vec<_>>().into_iter()
}
