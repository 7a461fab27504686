//! What a daemon knows of one application: its nodes, how they ended and why, and what it printed recently.

use crate::metrics::folder::SocketFolder;
use crate::node::ending::{End, How};
use crate::node::message::{Event, cost};
use crate::node::signal::KILL;
use crate::rack::protocol::{ApplicationSummary, Launch, LoggedOutput, NodeEnd, NodeSummary};
use crate::terminal::stream::Stream;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// The most characters of a command line, and of a node's last words, that are kept.
const MOST_CHARACTERS: usize = 512;

/// An application.
#[derive(Debug)]
pub struct ApplicationRecord {
    application: String,
    owner: String,
    command: String,
    started: Instant,
    nodes: Vec<NodeRecord>,
    output: VecDeque<LoggedOutput>,
    output_bytes: usize,
    /// While the application runs: tells its session who wants to end it.
    session: Option<UnboundedSender<String>>,
    ended: Option<Instant>,
    /// Who or what ended it, or why it was not started.
    cause: Option<String>,
    was_not_started: bool,
    /// The `XDG_RUNTIME_DIR` of its nodes.
    runtime_directory: Option<PathBuf>,
    /// Where its nodes serve their metrics, as long as it runs.
    metrics: Option<Arc<SocketFolder>>,
}

/// A node that runs, and how it can be asked.
#[derive(Clone, Debug)]
pub struct InspectableNode {
    /// The id of its application.
    pub application: String,
    /// Its index.
    pub node: u32,
    /// Its process.
    pub pid: u32,
    /// Its `XDG_RUNTIME_DIR`.
    pub runtime_directory: Option<PathBuf>,
    /// Where it serves its metrics.
    pub metrics: Option<Arc<SocketFolder>>,
}

#[derive(Debug)]
struct NodeRecord {
    node: u32,
    pid: u32,
    started: Instant,
    ended: Option<(Instant, End)>,
    /// Whether the node was ended because its application was.
    was_ended: bool,
}

impl ApplicationRecord {
    /// One that is being started.
    pub fn new(launch: &Launch, session: UnboundedSender<String>) -> Self {
        let words: Vec<_> = launch.arguments.iter().map(|word| String::from_utf8_lossy(word)).collect();
        Self {
            application: launch.application.clone(),
            owner: cut(&launch.owner),
            command: cut(&words.join(" ")),
            started: Instant::now(),
            nodes: Vec::new(),
            output: VecDeque::new(),
            output_bytes: 0,
            session: Some(session),
            ended: None,
            cause: None,
            was_not_started: false,
            runtime_directory: runtime_directory(launch),
            metrics: None,
        }
    }

    /// Takes note of where its nodes serve their metrics.
    pub fn serve_metrics(&mut self, folder: Arc<SocketFolder>) {
        self.metrics = Some(folder);
    }

    /// The nodes that run, and how they can be asked.
    pub fn nodes(&self) -> impl Iterator<Item = InspectableNode> {
        self.nodes.iter().filter(|node| node.ended.is_none()).map(|node| InspectableNode {
            application: self.application.clone(),
            node: node.node,
            pid: node.pid,
            runtime_directory: self.runtime_directory.clone(),
            metrics: self.metrics.clone(),
        })
    }

    /// Its id.
    pub fn application(&self) -> &str {
        &self.application
    }

    /// Whether it runs, or is being started.
    pub fn runs(&self) -> bool {
        self.session.is_some()
    }

    /// How long ago it has ended, if it has.
    pub fn age(&self) -> Option<Duration> {
        self.ended.map(|ended| ended.elapsed())
    }

    /// How many nodes it had.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is anything to report about it.
    pub fn is_remarkable(&self) -> bool {
        !self.nodes.is_empty() || self.was_not_started
    }

    /// The nodes that run.
    pub fn running(&self) -> Vec<u32> {
        self.nodes.iter().filter(|node| node.ended.is_none()).map(|node| node.node).collect()
    }

    /// What it printed recently.
    pub fn output(&self) -> impl Iterator<Item = &LoggedOutput> {
        self.output.iter()
    }

    /// For clients.
    pub fn summary(&self) -> ApplicationSummary {
        ApplicationSummary {
            application: self.application.clone(),
            owner: self.owner.clone(),
            seconds: self.ended.unwrap_or_else(Instant::now).duration_since(self.started).as_secs(),
            command: self.command.clone(),
            nodes: self.nodes.iter().map(NodeRecord::summary).collect(),
            ended_seconds_ago: self.age().map(|age| age.as_secs()),
            cause: self.cause.clone(),
            was_not_started: self.was_not_started,
        }
    }

    /// Tells its session that somebody wants to end it; returns whether there was a session to tell.
    pub fn kill(&self, by: &str) -> bool {
        self.session.as_ref().is_some_and(|session| session.send(by.to_owned()).is_ok())
    }

    /// Takes note of what happens to its nodes, and keeps this many bytes of what they print.
    pub fn note(&mut self, event: &Event, most: usize) {
        match event {
            Event::Started { node, pid } => self.nodes.push(NodeRecord::new(*node, *pid)),
            Event::NotStarted { message, .. } => {
                self.was_not_started = true;
                self.note_cause(message);
                self.kill_all();
            }
            Event::Ended { node, end } => {
                let was_ended = self.cause.is_some();
                let known = self.nodes.iter_mut().find(|known| known.node == *node);
                if let Some(known) = known {
                    known.end(end, was_ended);
                }
            }
            Event::Output { node, stream, bytes } => self.keep(*node, *stream, bytes.clone(), most),
            _ => {}
        }
    }

    /// Notes why nodes end from now on. The first cause counts.
    pub fn note_cause(&mut self, cause: &str) {
        self.cause.get_or_insert_with(|| cut(cause));
    }

    /// The host has killed those of its nodes that still ran.
    fn kill_all(&mut self) {
        let killed = End { how: How::Killed { signal: KILL, core: false }, words: None };
        self.nodes.iter_mut().for_each(|node| node.end(&killed, true));
    }

    /// Its session is over, and its host has killed what still ran.
    pub fn close(&mut self) {
        self.kill_all();
        self.session = None;
        self.metrics = None;
        self.ended.get_or_insert_with(Instant::now);
    }

    /// Keeps a line about a node among what it printed.
    pub fn say(&mut self, node: u32, line: &str, most: usize) {
        let mut of_node = self.output.iter().rev().filter(|kept| kept.node == node);
        let last = of_node.find(|kept| kept.stream == Stream::Err);
        // The node may not have ended its last line.
        let begin = if last.is_none_or(|last| last.bytes.ends_with(b"\n")) { "" } else { "\n" };
        self.keep(node, Stream::Err, format!("{begin}{line}\n").into_bytes(), most);
    }

    /// Keeps output, and forgets the oldest if there are more than `most` bytes.
    fn keep(&mut self, node: u32, stream: Stream, bytes: Vec<u8>, most: usize) {
        self.output_bytes += cost(&bytes);
        self.output.push_back(LoggedOutput { node, stream, bytes });
        while self.output_bytes > most
            && let Some(oldest) = self.output.pop_front()
        {
            self.output_bytes -= cost(&oldest.bytes);
        }
    }

    /// Forgets what it printed.
    pub fn forget_output(&mut self) {
        self.output = VecDeque::new();
        self.output_bytes = 0;
    }
}

impl NodeRecord {
    fn new(node: u32, pid: u32) -> Self {
        Self { node, pid, started: Instant::now(), ended: None, was_ended: false }
    }

    /// Takes note of its first end.
    fn end(&mut self, end: &End, was_ended: bool) {
        if self.ended.is_none() {
            let end = End { how: end.how.clone(), words: end.words.as_deref().map(cut) };
            self.ended = Some((Instant::now(), end));
            self.was_ended = was_ended;
        }
    }

    fn summary(&self) -> NodeSummary {
        let end = self.ended.as_ref().map(|(at, end)| NodeEnd {
            end: end.clone(),
            was_ended: self.was_ended,
            seconds_ago: at.elapsed().as_secs(),
        });
        let ran = self.ended.as_ref().map_or_else(Instant::now, |(at, _)| *at).duration_since(self.started);
        let milliseconds = u64::try_from(ran.as_millis()).unwrap_or(u64::MAX);
        NodeSummary { node: self.node, pid: self.pid, milliseconds, end }
    }
}

/// What the nodes of a launch are told about the directory for sockets of their user.
fn runtime_directory(launch: &Launch) -> Option<PathBuf> {
    let variable = launch.environment.iter().find(|(name, _)| name == b"XDG_RUNTIME_DIR");
    variable.map(|(_, value)| OsString::from_vec(value.clone()).into())
}

/// The beginning of a text.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
