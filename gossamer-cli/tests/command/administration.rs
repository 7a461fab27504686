//! Everything around launches: the key, the configuration, limits, and the commands that ask daemons.

use crate::common::rack::Rack;
use crate::common::{eventually, fifo, finish, gossamer, read_numbers, start};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

#[test]
fn an_application_can_be_listed_read_and_killed_by_others() {
    let rack = Rack::new("others", 2);
    let mut started = start(&mut rack.launch(3, "echo word $GOSSAMER_NODE; exec sleep 1000"));
    let application = rack.application();
    // A line from each node.
    let mut seen = [0; 48];
    started.child().stdout.as_mut().unwrap().read_exact(&mut seen).unwrap();
    rack.ask("ps", &[]).ended_with(0).was_quiet();
    let list: serde_json::Value = serde_json::from_str(&rack.ask("ps", &["--json"]).out).unwrap();
    assert_eq!(list[0]["application"], application.as_str());
    assert_eq!(list[0]["nodes"].as_array().unwrap().len(), 3);
    eventually("the output is kept", || {
        rack.ask("logs", &[&application]).lines() == ["[node 0] word 0", "[node 1] word 1", "[node 2] word 2"]
    });
    let logs: serde_json::Value =
        serde_json::from_str(&rack.ask("logs", &[&application, "--json"]).out).unwrap();
    assert_eq!(logs.as_array().unwrap().len(), 3);
    rack.ask("kill", &[&application]).ended_with(0);
    started.finish().ended_with(143).said("ended by `gossamer kill`");
    eventually("it is not listed any more", || rack.ask("ps", &["--json"]).out.trim() == "[]");
    assert_eq!(rack.ask("logs", &[&application]).ended_with(0).out.lines().count(), 3);
    rack.ask("kill", &[&application]).ended_with(1).said("there is no application");
}

#[test]
fn log_and_kept_output_say_which_node_was_killed_and_by_what() {
    let rack = Rack::new("says-who", 1);
    let script =
        "[ $GOSSAMER_NODE = 1 ] || exec sleep 1000; printf unfinished >&2; read line <$WAIT; kill -KILL $$";
    let wait = fifo(&rack.scratch);
    let started = start(rack.launch(2, script).env("WAIT", &wait));
    let application = rack.application();
    std::fs::write(&wait, "\n").unwrap();
    started.finish().ended_with(137);
    rack.daemons[0].says("node 1 was killed by SIGKILL");
    let logs = rack.ask("logs", &[&application]);
    assert_eq!(
        logs.ended_with(0).lines(),
        ["[node 1] gossamer: node 1 was killed by SIGKILL", "[node 1] unfinished"]
    );
    assert!(!rack.daemons[0].log().contains("node 0 was"), "{}", rack.daemons[0].log());
}

#[test]
fn kept_output_is_bounded() {
    let rack = Rack::without_daemons("bounded", 1);
    rack.configure(0, "[limits]\nlog_kibibytes = 64\n");
    let _daemon = rack.start(0);
    let script = "head -c 1000000 /dev/zero | tr '\\0' '\\n'; echo last; exec sleep 1000";
    let mut started = start(rack.launch(1, script).stdout(Stdio::null()));
    let application = rack.application();
    eventually("the last line is kept", || rack.ask("logs", &[&application]).out.ends_with("] last\n"));
    assert!(rack.ask("logs", &[&application]).out.lines().count() <= 64 * 1024);
    started.signal("INT");
    started.child().wait().unwrap();
}

#[test]
fn status_shows_all_machines_and_those_that_are_unreachable() {
    let mut rack = Rack::new("unreachable", 2);
    let all: serde_json::Value =
        serde_json::from_str(&rack.ask("status", &["--json"]).ended_with(0).out).unwrap();
    for (index, name) in ["a", "b"].into_iter().enumerate() {
        assert_eq!(all[index]["machine"], name);
        assert_eq!(all[index]["reachable"], true);
        assert_eq!(all[index]["same_configuration"], true);
        assert_eq!(all[index]["version"], env!("CARGO_PKG_VERSION"));
    }
    rack.daemons.remove(1);
    let finished = rack.ask("status", &[]);
    finished.ended_with(3).said("cannot reach b").said("does `gossamer daemon` run there?");
    assert!(finished.out.contains("unreachable"), "{finished:?}");
    rack.ask("ps", &[]).ended_with(0).said("cannot reach b");
    finish(&mut rack.launch(2, "true")).ended_with(3).said("cannot reach b");
    finish(&mut rack.launch(1, "true")).ended_with(0);
}

#[test]
fn another_configuration_of_a_daemon_is_shown() {
    let mut rack = Rack::new("another", 1);
    rack.machines.push(("b".into(), 1));
    rack.configure(0, "");
    let finished = rack.ask("status", &[]);
    assert!(finished.out.contains("its rack.toml names other machines"), "{finished:?}");
}

#[test]
fn another_key_is_refused_on_both_sides() {
    let rack = Rack::new("key", 1);
    std::fs::remove_file(rack.scratch.path("key")).unwrap();
    rack_key(&rack).ended_with(0);
    finish(&mut rack.launch(1, "true")).ended_with(3).said("does not know the key");
    rack.daemons[0].says("refused 127.0.0.1: it has another key");
}

fn rack_key(rack: &Rack) -> crate::common::Finished {
    finish(&mut gossamer(&["keygen", rack.scratch.path("key").to_str().unwrap()]))
}

#[test]
fn a_key_is_never_overwritten_nor_shown_nor_read_by_others() {
    let rack = Rack::without_daemons("readable", 1);
    let key = rack.scratch.path("key");
    let before = std::fs::read_to_string(&key).unwrap();
    rack_key(&rack).ended_with(1).said("never overwritten");
    assert_eq!(std::fs::read_to_string(&key).unwrap(), before);
    assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    for mode in [0o640, 0o604, 0o620] {
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
        finish(&mut rack.command(0, "daemon", &[])).ended_with(2).said("chmod 600");
        finish(&mut rack.launch(1, "true")).ended_with(2).said("chmod 600");
    }
}

#[test]
fn limits_of_a_daemon_hold() {
    let rack = Rack::without_daemons("limits-of-a-daemon", 1);
    rack.configure(0, "[limits]\napplications = 1\nnodes = 2\n");
    let _daemon = rack.start(0);
    finish(&mut rack.launch(3, "true")).ended_with(3).said("`nodes` in [limits]");
    let mut started = start(&mut rack.launch(2, "echo $$; exec sleep 1000"));
    read_numbers(started.child(), 2);
    finish(&mut rack.launch(1, "true")).ended_with(3).said("`applications` in [limits]");
}

#[test]
fn mistakes_in_the_configuration_are_status_2() {
    let rack = Rack::without_daemons("mistakes", 1);
    finish(&mut gossamer(&["run", "--config", "/no/such/file", "--", "true"]))
        .ended_with(2)
        .said("run --local");
    std::fs::write(rack.config(0), "key = \"key\"\nfoo = 1\n").unwrap();
    finish(&mut rack.launch(1, "true")).ended_with(2).said("a.toml").said("line 2").said("foo");
    finish(&mut rack.command(0, "daemon", &[])).ended_with(2).said("line 2");
    rack.configure(0, "user = \"no-such-user\"\n");
    finish(&mut rack.command(0, "daemon", &[])).ended_with(2).said("no user \"no-such-user\"");
    rack.configure(0, "");
    finish(&mut rack.command(0, "run", &["--hosts", "a,c", "--", "true"])).ended_with(2).said("there are a");
    std::fs::remove_file(rack.scratch.path("key")).unwrap();
    finish(&mut rack.launch(1, "true")).ended_with(2).said("gossamer keygen");
}
