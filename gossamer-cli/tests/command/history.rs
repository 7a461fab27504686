//! What daemons remember of applications that have ended.

use crate::common::rack::Rack;
use crate::common::{Finished, eventually, fifo, finish, read_numbers, start, write_script};
use serde_json::Value;

/// The nodes of the last application that `ps --all` knows, once it has ended.
fn ended(rack: &Rack) -> (Value, Finished) {
    let mut known = Value::Null;
    eventually("the application has ended", || {
        let all: Value = serde_json::from_str(&rack.ask("ps", &["--all", "--json"]).out).unwrap();
        known = all[0].clone();
        !known["ended_seconds_ago"].is_null()
    });
    assert_eq!(rack.ask("ps", &["--json"]).out.trim(), "[]", "without --all it is not listed");
    (known, rack.ask("ps", &["--all"]))
}

fn node(application: &Value, node: usize) -> &Value {
    application["nodes"].as_array().unwrap().iter().find(|known| known["node"] == node).unwrap()
}

#[test]
fn how_each_node_has_ended_is_known_afterwards() {
    let rack = Rack::new("history", 2);
    let script = "echo $$; [ $GOSSAMER_NODE = 1 ] || exec sleep 1000; read line <$WAIT; kill -SEGV $$";
    let wait = fifo(&rack.scratch);
    let mut started = start(rack.launch(2, script).env("WAIT", &wait));
    let numbers = read_numbers(started.child(), 2);
    std::fs::write(&wait, "\n").unwrap();
    started.finish().ended_with(139);
    let (application, table) = ended(&rack);
    let (first, second) = (node(&application, 0), node(&application, 1));
    assert_eq!((&second["machine"], &second["signal"]), (&"b".into(), &"SIGSEGV".into()));
    assert_eq!(second["ended_by"], Value::Null, "by itself");
    assert!(numbers.contains(&(second["pid"].as_u64().unwrap() as u32)), "{application}");
    assert!(second["seconds"].as_f64().is_some() && second["ended_seconds_ago"].as_u64().is_some());
    assert_eq!(first["machine"], "a");
    assert!(first["ended_by"].as_str().unwrap().contains("its launcher"), "{application}");
    let line = |node: &str| table.out.lines().find(|line| line.contains(&format!("  {node}     "))).unwrap();
    assert!(line("1").contains("ago") && line("1").contains("was killed by SIGSEGV"), "{table:?}");
    assert!(line("0").contains("ended by its launcher"), "{table:?}");
}

#[test]
fn a_good_end_and_a_status_are_remembered_with_the_last_words() {
    let rack = Rack::new("good-end", 1);
    finish(&mut rack.launch(1, "exit 0")).ended_with(0);
    let (application, table) = ended(&rack);
    assert_eq!((&node(&application, 0)["status"], &node(&application, 0)["said"]), (&0.into(), &Value::Null));
    assert!(table.out.contains("ended with status 0 "), "{table:?}");
    finish(&mut rack.launch(1, "echo the reason >&$GOSSAMER_REPORT_FD; exit 7")).ended_with(7);
    eventually("both are known", || {
        let out = rack.ask("ps", &["--all"]).out;
        out.lines().count() == 3 && out.lines().last().unwrap().contains("ended with status 7; the reason")
    });
}

#[test]
fn who_ended_an_application_is_known_afterwards() {
    let rack = Rack::new("who-ended", 1);
    let started = start(&mut rack.launch(1, "exec sleep 1000"));
    rack.ask("kill", &[&rack.application()]).ended_with(0);
    started.finish().ended_with(143);
    let (application, table) = ended(&rack);
    let by = node(&application, 0)["ended_by"].as_str().unwrap().to_owned();
    assert!(by.starts_with("ended by `gossamer kill` of ") && by.contains('@'), "{by}");
    assert!(table.out.contains(&by), "{table:?}");
}

#[test]
fn nodes_whose_launcher_was_killed_are_remembered_as_that() {
    let rack = Rack::new("lost-launcher", 1);
    let mut started = start(&mut rack.launch(1, "echo $$; exec sleep 1000"));
    read_numbers(started.child(), 1);
    started.signal("KILL");
    let (application, _) = ended(&rack);
    let node = node(&application, 0);
    assert_eq!(node["signal"], "SIGKILL");
    assert!(node["ended_by"].as_str().unwrap().contains("the launcher is lost"), "{application}");
}

#[test]
fn an_application_that_could_not_be_started_is_remembered_with_the_reason() {
    let rack = Rack::new("not-started", 1);
    let program = rack.scratch.path("program");
    write_script(&program, "#!/no/such/interpreter\n");
    finish(&mut rack.command(0, "run", &["--", program.to_str().unwrap()])).ended_with(126);
    let (application, table) = ended(&rack);
    let reason = application["machines"][0]["not_started"].as_str().unwrap();
    assert!(reason.contains("its interpreter"), "{application}");
    assert!(table.out.contains(reason), "{table:?}");
}
