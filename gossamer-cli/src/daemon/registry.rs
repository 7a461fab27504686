//! The applications that have nodes on this machine, and what they printed recently.

use crate::node::message::{Event, cost};
use crate::rack::config::Limits;
use crate::rack::protocol::{ApplicationSummary, Launch, LoggedOutput};
use crate::terminal::stream::Stream;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::mpsc::UnboundedSender;

/// How many ended applications are remembered, for their output.
const REMEMBERED: usize = 32;

/// All applications, oldest first.
#[derive(Debug)]
pub struct Registry {
    applications: Mutex<Vec<RegisteredApplication>>,
    most: usize,
    log_bytes: usize,
}

#[derive(Debug)]
struct RegisteredApplication {
    listed: ApplicationSummary,
    started: Instant,
    log: VecDeque<LoggedOutput>,
    log_bytes: usize,
    /// To its session, as long as it runs: who wants to end it.
    end: Option<UnboundedSender<String>>,
}

/// A running application, until it is dropped.
#[derive(Debug)]
pub struct Registration {
    registry: Arc<Registry>,
    application: String,
}

impl Registry {
    /// With nothing in it.
    pub fn new(limits: &Limits) -> Self {
        let log_bytes = limits.log_kibibytes << 10;
        Self { applications: Mutex::default(), most: limits.applications, log_bytes }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<RegisteredApplication>> {
        self.applications.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up an application; `end` gets the name of whoever wants to end it.
    ///
    /// # Errors
    /// If there are too many, or there is one of this id.
    pub fn enter(
        self: &Arc<Self>,
        launch: &Launch,
        end: UnboundedSender<String>,
    ) -> Result<Registration, String> {
        let mut applications = self.lock();
        let running = applications.iter().filter(|application| application.end.is_some()).count();
        if running >= self.most {
            return Err(format!(
                "{running} applications run here already, as many as `applications` in [limits] allows"
            ));
        }
        if applications.iter().any(|application| application.listed.application == launch.application) {
            return Err(format!("there is an application {} already", launch.application));
        }
        if applications.len() - running >= REMEMBERED
            && let Some(oldest) = applications.iter().position(|application| application.end.is_none())
        {
            applications.remove(oldest);
        }
        let words: Vec<_> = launch.arguments.iter().map(|word| String::from_utf8_lossy(word)).collect();
        applications.push(RegisteredApplication {
            listed: ApplicationSummary {
                application: launch.application.clone(),
                owner: launch.owner.clone(),
                seconds: 0,
                command: words.join(" "),
                nodes: Vec::new(),
            },
            started: Instant::now(),
            log: VecDeque::new(),
            log_bytes: 0,
            end: Some(end),
        });
        Ok(Registration { registry: Arc::clone(self), application: launch.application.clone() })
    }

    /// The applications that run.
    pub fn list(&self) -> Vec<ApplicationSummary> {
        let applications = self.lock();
        let running = applications.iter().filter(|application| application.end.is_some());
        running
            .map(|application| ApplicationSummary {
                seconds: application.started.elapsed().as_secs(),
                ..application.listed.clone()
            })
            .collect()
    }

    /// Ends an application, and says whether it is there.
    pub fn kill(&self, application: &str, by: &str) -> bool {
        let applications = self.lock();
        let found = applications.iter().find(|known| known.listed.application == application);
        found.and_then(|found| found.end.as_ref()).is_some_and(|end| end.send(by.to_owned()).is_ok())
    }

    /// What an application printed recently.
    pub fn logs(&self, application: &str) -> Option<Vec<LoggedOutput>> {
        let applications = self.lock();
        let found = applications.iter().find(|known| known.listed.application == application);
        found.map(|found| found.log.iter().cloned().collect())
    }
}

impl RegisteredApplication {
    /// Keeps output, and forgets the oldest if there are more than `most` bytes.
    fn keep(&mut self, node: u32, stream: Stream, bytes: Vec<u8>, most: usize) {
        self.log_bytes += cost(&bytes);
        self.log.push_back(LoggedOutput { node, stream, bytes });
        while self.log_bytes > most
            && let Some(oldest) = self.log.pop_front()
        {
            self.log_bytes -= cost(&oldest.bytes);
        }
    }
}

impl Registration {
    /// Takes note of what happens to the application's nodes.
    pub fn note(&self, event: &Event) {
        let mut applications = self.registry.lock();
        let known = |known: &&mut RegisteredApplication| known.listed.application == self.application;
        let Some(application) = applications.iter_mut().find(known) else { return };
        match event {
            Event::Started { node, pid } => application.listed.nodes.push((*node, *pid, None)),
            Event::Ended { node, end } => {
                for known in application.listed.nodes.iter_mut().filter(|known| known.0 == *node) {
                    known.2 = Some(end.clone());
                }
            }
            Event::Output { node, stream, bytes } => {
                application.keep(*node, *stream, bytes.clone(), self.registry.log_bytes);
            }
            _ => {}
        }
    }

    /// Keeps a line about a node among what it printed.
    pub fn say(&self, node: u32, line: &str) {
        let mut applications = self.registry.lock();
        let known = |known: &&mut RegisteredApplication| known.listed.application == self.application;
        let Some(application) = applications.iter_mut().find(known) else { return };
        let mut of_node = application.log.iter().rev().filter(|kept| kept.node == node);
        let last = of_node.find(|kept| kept.stream == Stream::Err);
        // The node may not have ended its last line.
        let begin = if last.is_none_or(|last| last.bytes.ends_with(b"\n")) { "" } else { "\n" };
        let line = format!("{begin}{line}\n").into_bytes();
        application.keep(node, Stream::Err, line, self.registry.log_bytes);
    }

    /// The nodes that run.
    pub fn running(&self) -> Vec<u32> {
        let applications = self.registry.lock();
        let found = applications.iter().find(|known| known.listed.application == self.application);
        let nodes = found.map(|found| found.listed.nodes.as_slice()).unwrap_or_default();
        nodes.iter().filter(|node| node.2.is_none()).map(|node| node.0).collect()
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut applications = self.registry.lock();
        for known in applications.iter_mut().filter(|known| known.listed.application == self.application) {
            known.end = None;
        }
        // One that was not even started has said nothing.
        applications.retain(|known| known.end.is_some() || !known.listed.nodes.is_empty());
    }
}
