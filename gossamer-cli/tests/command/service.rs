//! The daemon as a service: its log for programs, what it tells systemd, and probes.

use crate::common::rack::{Daemon, Rack};
use crate::common::{Finished, WATCHDOG, eventually, finish, skipped, start};
use serde_json::Value;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The events with this name, from a log of JSON lines.
fn events(daemon: &Daemon, name: &str) -> Vec<Value> {
    let log = daemon.log();
    let events =
        log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("{log}")));
    events.filter(|event| event["event"] == name).collect()
}

#[test]
fn each_line_of_the_log_is_an_object_with_the_values_of_its_event() {
    let rack = Rack::without_daemons("json-log", 1);
    let daemon = Daemon::start_listening(&mut rack.command(0, "daemon", &["--log", "json"]));
    let script =
        "[ $GOSSAMER_NODE = 1 ] || exec sleep 1000; echo 'a \"reason\"' >&$GOSSAMER_REPORT_FD; exit 7";
    finish(&mut rack.launch(2, script)).ended_with(7);
    eventually("it has ended", || !events(&daemon, "ended").is_empty());
    let (started, failed) = (&events(&daemon, "starting")[0], &events(&daemon, "node_failed")[0]);
    assert_eq!(started["nodes"], "0,1");
    assert_eq!(
        (&failed["node"], &failed["status"], &failed["said"]),
        (&1.into(), &7.into(), &"a \"reason\"".into())
    );
    assert_eq!((&failed["application"], &failed["level"]), (&started["application"], &"WARN".into()));
    assert!(
        failed["owner"].as_str().unwrap().contains('@')
            && failed["timestamp"].as_str().unwrap().ends_with('Z')
    );
    assert!(failed["message"].as_str().unwrap().ends_with("node 1 ended with status 7"), "{failed}");
    assert_eq!(events(&daemon, "listening")[0]["version"], env!("CARGO_PKG_VERSION"));
    TcpStream::connect(("127.0.0.1", rack.machines[0].1))
        .and_then(|mut peer| std::io::Write::write_all(&mut peer, &[1; 48]))
        .unwrap();
    eventually("the refusal is told", || !events(&daemon, "refused").is_empty());
    assert_eq!(events(&daemon, "refused")[0]["peer"], "127.0.0.1");
}

/// The fields of a message to the journal.
fn fields(message: &[u8]) -> Vec<(String, String)> {
    let (mut rest, mut fields) = (message, Vec::new());
    while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
        let (line, after) = (String::from_utf8_lossy(&rest[..end]), &rest[end + 1..]);
        match line.split_once('=') {
            Some((name, value)) => {
                fields.push((name.into(), value.into()));
                rest = after;
            }
            None => {
                let length = usize::try_from(u64::from_le_bytes(after[..8].try_into().unwrap())).unwrap();
                fields.push((line.into(), String::from_utf8_lossy(&after[8..8 + length]).into()));
                rest = &after[8 + length + 1..];
            }
        }
    }
    fields
}

#[test]
fn a_daemon_of_systemd_writes_fields_into_the_journal() {
    if !rustix::process::geteuid().is_root() {
        return skipped("the journal, which needs root: a mount namespace stands in for it");
    }
    let rack = Rack::without_daemons("journal", 1);
    let at = rack.scratch.path("journal");
    std::fs::create_dir(&at).unwrap();
    let journal = UnixDatagram::bind(at.join("socket")).unwrap();
    journal.set_read_timeout(Some(WATCHDOG)).unwrap();
    // Standard error has the name that systemd gives it.
    let script = "mount -t tmpfs none /run && mkdir -p /run/systemd/journal && mount --bind \"$0\" /run/systemd/journal &&
        JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec \"$@\"";
    let daemon = rack.command(0, "daemon", &[]);
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(&at).arg(daemon.get_program()).args(daemon.get_args());
    let mut daemon = start(command.stdin(Stdio::null()).stderr(Stdio::piped()));
    let mut buffer = vec![0; 1 << 16];
    let mut next = |event: &str| loop {
        let length = journal.recv(&mut buffer).expect("a message comes");
        let fields = fields(&buffer[..length]);
        let field =
            |name: &str| fields.iter().find(|field| field.0 == name).map_or("", |field| field.1.as_str());
        if field("GOSSAMER_EVENT") == event {
            assert_eq!(field("SYSLOG_IDENTIFIER"), "gossamer");
            return ["MESSAGE", "PRIORITY", "GOSSAMER_NODE", "GOSSAMER_SIGNAL"]
                .map(|name| field(name).to_owned());
        }
    };
    assert!(next("listening")[0].contains("listens on"));
    finish(&mut rack.launch(1, "kill -SEGV $$")).ended_with(139);
    let [message, priority, node, signal] = next("node_failed");
    assert!(message.ends_with("node 0 was killed by SIGSEGV"), "{message}");
    assert_eq!((priority.as_str(), node.as_str(), signal.as_str()), ("4", "0", "SIGSEGV"));
    daemon.signal("TERM");
    next("stopped");
    let mut said = String::new();
    std::io::Read::read_to_string(daemon.child().stderr.as_mut().unwrap(), &mut said).unwrap();
    assert_eq!(said, "", "what is in the journal is not said twice");
}

#[test]
fn a_journal_that_is_asked_for_and_is_not_there_is_a_mistake() {
    if std::path::Path::new("/run/systemd/journal/socket").exists() {
        return skipped("a machine without a journal: this one has one");
    }
    let rack = Rack::without_daemons("no-journal", 1);
    rack.ask("daemon", &["--log", "journal"]).ended_with(2).said("--log journal");
}

/// Listens in place of systemd.
struct Manager(mpsc::Receiver<String>);

impl Manager {
    /// It reads all the time: the socket holds few messages, and the daemon waits while it is full.
    fn new(socket: UnixDatagram) -> Self {
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length) = socket.recv(&mut buffer)
                && tell.send(String::from_utf8_lossy(&buffer[..length]).into()).is_ok()
            {}
        });
        Self(told)
    }

    /// Waits at most this long.
    fn receive(&self, patience: Duration) -> Result<String, mpsc::RecvTimeoutError> {
        self.0.recv_timeout(patience)
    }

    /// The next message with this text.
    fn told(&self, text: &str) -> String {
        loop {
            let said = self.receive(WATCHDOG).unwrap_or_else(|error| panic!("no {text}: {error}"));
            if said.contains(text) {
                return said;
            }
        }
    }
}

#[test]
fn systemd_is_told_that_the_daemon_is_ready_lives_and_ends() {
    let rack = Rack::without_daemons("notify", 1);
    let at = rack.scratch.path("notify");
    let manager = Manager::new(UnixDatagram::bind(&at).unwrap());
    let mut command = rack.command(0, "daemon", &[]);
    let daemon = Daemon::start(command.env("NOTIFY_SOCKET", &at).env("WATCHDOG_USEC", "400000"));
    assert!(manager.told("READY=1").contains("STATUS=listens on"));
    TcpStream::connect(("127.0.0.1", rack.machines[0].1)).expect("it listens when it says that it is ready");
    (0..3).for_each(|_| drop(manager.told("WATCHDOG=1")));
    // While it is stopped, it is not alive.
    daemon.process.signal("STOP");
    while manager.receive(Duration::from_secs(2)).is_ok() {}
    daemon.process.signal("CONT");
    manager.told("WATCHDOG=1");
    let started = start(&mut rack.launch(1, "exec sleep 1000"));
    manager.told("STATUS=applications: 1");
    rack.ask("kill", &[&rack.application()]).ended_with(0);
    started.finish().ended_with(143);
    manager.told("STATUS=applications: 0");
    daemon.process.signal("TERM");
    manager.told("STOPPING=1");
}

#[test]
fn probes_are_told_whether_the_daemon_lives() {
    let mut rack = Rack::new("probes", 1);
    let probe = |rack: &Rack| -> (Finished, Value) {
        let alive: Value = serde_json::from_str(&rack.ask("status", &["--health", "--json"]).out).unwrap();
        (rack.ask("status", &["--health"]), alive)
    };
    let (said, alive) = probe(&rack);
    assert!(said.ended_with(0).was_quiet().out.starts_with("alive: gossamer "), "{said:?}");
    assert_eq!((&alive["alive"], &alive["nodes"]), (&true.into(), &0.into()));
    let started = start(&mut rack.launch(2, "exec sleep 1000"));
    eventually("its nodes are counted", || probe(&rack).1["nodes"] == 2);
    started.signal("INT");
    started.finish();
    // It exists, but does not answer.
    rack.daemons[0].process.signal("STOP");
    rack.ask("status", &["--health"]).ended_with(3).said("no answer");
    rack.daemons[0].process.signal("CONT");
    rack.ask("status", &["--health"]).ended_with(0);
    rack.daemons.clear();
    let (said, alive) = probe(&rack);
    said.ended_with(3).said("does `gossamer daemon` run there?");
    assert_eq!(alive["alive"], false);
    // Another program that has the port is not a daemon.
    let _other = TcpListener::bind(("127.0.0.1", rack.machines[0].1)).unwrap();
    rack.ask("status", &["--health"]).ended_with(3);
}

#[test]
fn a_probe_without_the_key_learns_nothing_and_is_not_in_the_log() {
    let rack = Rack::new("silent-probe", 1);
    // A daemon that answers has said all that it says when it starts.
    rack.ask("status", &["--health"]).ended_with(0);
    let before = rack.daemons[0].log();
    for _ in 0..10 {
        drop(TcpStream::connect(("127.0.0.1", rack.machines[0].1)).unwrap());
    }
    let mut peer = TcpStream::connect(("127.0.0.1", rack.machines[0].1)).unwrap();
    peer.shutdown(std::net::Shutdown::Write).unwrap();
    let mut said = Vec::new();
    std::io::Read::read_to_end(&mut peer, &mut said).unwrap();
    assert_eq!(said, b"");
    rack.ask("status", &["--health"]).ended_with(0);
    assert_eq!(rack.daemons[0].log(), before);
}
