//! The daemon's side of a launch. The connection is the launch: when it ends, the nodes are killed.

use crate::daemon::events::LaunchLog;
use crate::daemon::exchange::{next, send};
use crate::daemon::prepare::{PreparedLaunch, invocation, prepare};
use crate::daemon::registry::Registration;
use crate::daemon::service_manager;
use crate::daemon::state::Daemon;
use crate::node::ending::How;
use crate::node::host::host;
use crate::node::message::{Command, Event};
use crate::node::signal::{INTERRUPTED, KILL, TERMINATE, signal_name};
use crate::rack::protocol::{HEARTBEAT, Launch, Reply, Request};
use crate::rack::silence::Silence;
use crate::secure::channel::{Reader, Writer};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

/// How long the last messages to a launcher may take, over a slow link and between busy machines. A daemon that is
/// stopped waits for them, too.
const LAST: Duration = Duration::from_secs(3);

/// Serves a launch to its end.
pub async fn serve(daemon: &Arc<Daemon>, mut reader: Reader, mut writer: Writer, launch: Launch) {
    let log = LaunchLog::new(&launch);
    let (end, mut ends) = unbounded_channel();
    let prepared = match prepare(daemon, &mut reader, &mut writer, &launch, end).await {
        Ok(prepared) => prepared,
        Err(why) => {
            log.not_started(&why);
            return refuse(&mut reader, &mut writer, why).await;
        }
    };
    log.starting(&launch.nodes);
    service_manager::status(daemon.registry.running().0);
    let PreparedLaunch { registration, program, nodes } = prepared;
    let invocation = invocation(daemon, &launch, program.path());
    let (commands, orders) = unbounded_channel();
    let (tell, mut events) = unbounded_channel();
    let (replies, outgoing) = unbounded_channel();
    let host = tokio::spawn(async move { host(&invocation, nodes, orders, tell).await });
    let mut speaker = tokio::spawn(speak(writer, outgoing));
    let mut running = Running {
        log: &log,
        registration: &registration,
        commands,
        replies,
        kill_at: None,
        are_signalled: false,
    };
    let why = running.watch(&mut reader, &mut events, &mut ends, &mut speaker, daemon.stopping.clone()).await;
    let note_all = |events: &mut UnboundedReceiver<Event>| {
        while let Ok(event) = events.try_recv() {
            registration.note(&event);
        }
    };
    note_all(&mut events);
    registration.note_cause(&why);
    let Running { commands, replies, .. } = running;
    drop(commands);
    let _ = host.await;
    note_all(&mut events);
    drop(replies);
    if !speaker.is_finished() && timeout(LAST, &mut speaker).await.is_err() {
        speaker.abort();
    }
    match registration.running() {
        running if running.is_empty() => log.ended(),
        running => log.killed(&running, &why),
    }
    drop(registration);
    service_manager::status(daemon.registry.running().0);
}

/// Tells the launcher why nothing was started.
async fn refuse(reader: &mut Reader, writer: &mut Writer, why: String) {
    // Reads on while the launcher is still sending: if the connection were closed at once, the launcher would not get
    // to read the reason.
    let refuse = async {
        send(writer, &Reply::Refused(why)).await?;
        while reader.receive().await?.is_some() {}
        io::Result::Ok(())
    };
    let _ = timeout(LAST, refuse).await;
}

/// A launch whose nodes run.
struct Running<'a> {
    log: &'a LaunchLog,
    registration: &'a Registration,
    /// To the host.
    commands: UnboundedSender<Command>,
    /// To the launcher.
    replies: UnboundedSender<Reply>,
    /// When the nodes are killed because somebody has ended the application.
    kill_at: Option<Instant>,
    /// Whether the nodes that are left have been told to end.
    are_signalled: bool,
}

impl Running<'_> {
    /// Passes messages between host and launcher until the launcher is gone or the daemon ends; returns which of the
    /// two happened.
    async fn watch(
        &mut self,
        reader: &mut Reader,
        events: &mut UnboundedReceiver<Event>,
        ends: &mut UnboundedReceiver<String>,
        speaker: &mut JoinHandle<()>,
        mut stopping: watch::Receiver<bool>,
    ) -> String {
        let mut silence = Silence::begin();
        loop {
            let kill_at = self.kill_at;
            tokio::select! {
                request = next(reader, &mut silence) => {
                    if let Err(why) = self.request(request) {
                        return why;
                    }
                }
                Some(event) = events.recv() => {
                    self.registration.note(&event);
                    self.note_failure(&event);
                    self.reply(event);
                }
                Some(by) = ends.recv() => self.end(&by),
                () = sleep_until(kill_at.unwrap_or_else(Instant::now)), if kill_at.is_some() => {
                    self.kill_at = None;
                    self.command(Command::Signal(KILL));
                }
                _ = stopping.wait_for(|stopping| *stopping) => {
                    let why = "the daemon was stopped";
                    self.reply(Event::Lost(why.into()));
                    return why.into();
                }
                _ = &mut *speaker => return "the launcher is lost: nothing can be sent to it".into(),
            }
        }
    }

    /// Records in the log, and for `gossamer logs`, how a node failed, unless the node was told to end.
    fn note_failure(&self, event: &Event) {
        match event {
            Event::NotStarted { message, .. } => self.log.not_started(message),
            Event::Ended { node, end } if end.how != How::Exited(0) && !self.are_signalled => {
                self.log.node_failed(*node, end);
                self.registration.say(*node, &format!("gossamer: node {node} {}", end.how.sentence()));
            }
            _ => {}
        }
    }

    /// Does what the launcher says; returns an error if that ends the launch.
    fn request(&mut self, request: io::Result<Request>) -> Result<(), String> {
        match request {
            Ok(Request::Command(command)) => self.command(command),
            Ok(Request::Heartbeat) => {}
            Ok(_) => return Err("the launcher does not keep to the protocol".into()),
            Err(error) => return Err(format!("the launcher is lost: {error}")),
        }
        Ok(())
    }

    /// Ends the application, because somebody asked for it.
    fn end(&mut self, by: &str) {
        let cause = format!("ended by `gossamer kill` of {by}");
        self.registration.note_cause(&cause);
        self.reply(Event::Stopping(cause));
        self.command(Command::Signal(TERMINATE));
        self.kill_at.get_or_insert(Instant::now() + INTERRUPTED);
    }

    fn command(&mut self, command: Command) {
        if let Command::Signal(signal) = command {
            self.are_signalled = true;
            self.registration.note_cause(&format!("ended by its launcher ({})", signal_name(signal)));
        }
        // If the host is gone, it has said so itself.
        let _ = self.commands.send(command);
    }

    fn reply(&self, event: Event) {
        let _ = self.replies.send(Reply::Event(event));
    }
}

/// Sends what is queued, or a heartbeat if nothing is.
async fn speak(mut writer: Writer, mut outgoing: UnboundedReceiver<Reply>) {
    loop {
        let reply = match timeout(HEARTBEAT, outgoing.recv()).await {
            Ok(Some(reply)) => reply,
            Ok(None) => return,
            Err(_) => Reply::Heartbeat,
        };
        if send(&mut writer, &reply).await.is_err() {
            return;
        }
    }
}
