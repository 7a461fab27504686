//! What daemons report about the nodes that they have started: what these do, for `stacks` and `top`, and their
//! metrics.

use crate::common::programs::rack_program;
use crate::common::rack::{Daemon, Rack, port};
use crate::common::{Finished, Started, eventually, finish, gossamer, signal, skipped, start};
use serde_json::Value;
use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

/// The program for tests, on this many nodes of the rack; the argument says what it does.
fn run(rack: &Rack, nodes: &str, what: &str) -> Option<Started> {
    let program = rack_program()?;
    let arguments = ["-n", nodes, "--threads", "1", "--fabric", "tcp", "--", &program, what];
    Some(start(&mut rack.command(0, "run", &arguments)))
}

/// The output of a command, once it contains all of this.
fn until_it_says(rack: &Rack, command: &str, arguments: &[&str], texts: &[&str]) -> Finished {
    let mut said = rack.ask(command, arguments);
    eventually("it says it", || {
        said = rack.ask(command, arguments);
        texts.iter().all(|text| said.out.contains(text))
    });
    said
}

fn json(said: &Finished) -> Value {
    serde_json::from_str(&said.ended_with(0).out).unwrap()
}

#[test]
fn nodes_of_all_machines_are_shown_together_with_those_that_wait_for_each_other() {
    let rack = Rack::new("inspected", 2);
    let Some(_running) = run(&rack, "4", "deadlock") else { return };
    let texts = [
        "of 4 nodes 2 on a, 2 on b",
        "node 0 of 4, ",
        "node 3 of 4, ",
        "deadlock that has lasted at least",
        "4 fibers wait for each other",
    ];
    until_it_says(&rack, "stacks", &[], &texts);
    let application = rack.application();
    let told = json(&rack.ask("stacks", &["--application", &application, "--json"]));
    let nodes = told[0]["nodes"].as_array().unwrap();
    let machines: Vec<&str> = nodes.iter().map(|node| node["machine"].as_str().unwrap()).collect();
    assert_eq!(machines, ["a", "b", "a", "b"], "{told}");
    assert_eq!(nodes[0]["application"], *application);
    let one_look = ["--rack", "--once", "--json", "--interval", "100ms"];
    let told = json(&rack.ask("top", &one_look));
    assert_eq!(told[0]["workers"].as_array().unwrap().len(), 4, "{told}");
    let told = rack.ask("stacks", &["--application", "0123abcd"]);
    told.ended_with(1).said("there is no application 0123abcd");
}

#[test]
fn only_who_knows_the_key_is_told() {
    let rack = Rack::new("inspected-key", 1);
    let Some(_running) = run(&rack, "1", "sleep") else { return };
    until_it_says(&rack, "stacks", &[], &["in `sleep`"]);
    finish(&mut gossamer(&["keygen", rack.scratch.path("other").to_str().unwrap()])).ended_with(0);
    let config = std::fs::read_to_string(rack.config(0)).unwrap().replace("\"key\"", "\"other\"");
    std::fs::write(rack.scratch.path("other.toml"), config).unwrap();
    let other = rack.scratch.path("other.toml");
    let told = finish(&mut gossamer(&["stacks", "--config", other.to_str().unwrap()]));
    told.ended_with(3).said("does not know the key");
    assert_eq!(told.out, "");
}

#[test]
fn a_node_that_is_stopped_and_a_machine_that_is_gone_hold_up_nobody() {
    let mut rack = Rack::new("inspected-stopped", 2);
    let Some(_running) = run(&rack, "2", "sleep") else { return };
    until_it_says(&rack, "stacks", &[], &["node 0 of 2, ", "node 1 of 2, ", "in `sleep`"]);
    let told = json(&rack.ask("stacks", &["--rack", "--json"]));
    let stopped = told[0]["nodes"][1]["process"].as_u64().unwrap() as u32;
    signal(stopped, "STOP");
    let several: Vec<Started> = (0..8).map(|_| start(&mut rack.command(0, "stacks", &[]))).collect();
    for asker in several {
        let told = asker.finish();
        told.ended_with(3).said("node 1 of application").said(&format!("(process {stopped} on b)"));
        assert!(told.err.contains("is stopped") && told.out.contains("node 0 of 2, "), "{told:?}");
    }
    rack.ask("status", &["--health"]).ended_with(0);
    signal(stopped, "CONT");
    drop(rack.daemons.pop());
    let told = rack.ask("top", &["--once", "--interval", "100ms"]);
    assert!(told.err.contains("cannot reach b"), "{told:?}");
}

#[test]
fn a_daemon_of_root_looks_at_nodes_of_another_user_whatever_its_launcher_has_passed_on() {
    if !rustix::process::geteuid().is_root() {
        skipped("nodes of another user need root");
        return;
    }
    let Some(program) = rack_program() else { return };
    let mut rack = Rack::without_daemons("inspected-user", 1);
    std::fs::set_permissions(&rack.scratch.0, Permissions::from_mode(0o755)).unwrap();
    rack.configure(0, "user = \"nobody\"\n");
    let port = port();
    let daemon = Daemon::start_listening(&mut rack.command(0, "daemon", &["--metrics", &port.to_string()]));
    rack.daemons.push(daemon);
    // A directory that nodes must not use.
    let mut command = rack.command(0, "run", &["-n", "1", "--threads", "1", "--", &program, "sleep"]);
    let _running = start(command.env("XDG_RUNTIME_DIR", &rack.scratch.0));
    until_it_says(&rack, "stacks", &[], &["in `sleep`"]);
    let page = get(port, "/metrics");
    assert!(page.contains(",node=\"0\"} 1\n"), "{page}");
}

#[test]
fn a_program_that_a_script_has_started_is_found_below_it() {
    let Some(program) = rack_program() else { return };
    let mut rack = Rack::without_daemons("inspected-script", 1);
    let port = port();
    let daemon = Daemon::start_listening(&mut rack.command(0, "daemon", &["--metrics", &port.to_string()]));
    rack.daemons.push(daemon);
    let script = format!("(sleep 1000 & {program} sleep; :); :");
    let _running =
        start(&mut rack.command(0, "run", &["-n", "1", "--threads", "1", "--", "/bin/sh", "-c", &script]));
    let told = json(&until_it_says(&rack, "stacks", &["--json"], &["\"call\": \"sleep\""]));
    assert_eq!(told[0]["nodes"].as_array().unwrap().len(), 1, "{told}");
    assert!(get(port, "/metrics").contains(",node=\"0\"} 1\n"));
}

/// What is served at a port.
fn get(port: u16, path: &str) -> String {
    let mut peer = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let accept = "Accept: application/openmetrics-text";
    write!(peer, "GET {path} HTTP/1.1\r\nHost: here\r\n{accept}\r\n\r\n").unwrap();
    let mut text = String::new();
    peer.read_to_string(&mut text).unwrap();
    text
}

/// A variable of a process.
fn variable(process: u32, name: &str) -> Option<String> {
    let environment = std::fs::read(format!("/proc/{process}/environ")).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    variables
        .find_map(|one| String::from_utf8_lossy(one).strip_prefix(&format!("{name}=")).map(str::to_owned))
}

#[test]
fn one_page_of_the_daemon_has_what_all_of_its_nodes_count_and_which_of_them_do_not_tell() {
    let mut rack = Rack::without_daemons("metrics", 1);
    let port = port();
    let daemon = Daemon::start_listening(&mut rack.command(0, "daemon", &["--metrics", &port.to_string()]));
    rack.daemons.push(daemon);
    let Some(_running) = run(&rack, "2", "sleep") else { return };
    let told =
        until_it_says(&rack, "stacks", &["--json"], &["\"call\": \"sleep\"", "\"node\": 0,", "\"node\": 1,"]);
    let told = json(&told);
    let application = told[0]["nodes"][0]["application"].as_str().unwrap();
    let stopped = told[0]["nodes"][1]["process"].as_u64().unwrap() as u32;
    let up = |node: u32, up: u32| {
        format!("gossamer_node_up{{application=\"{application}\",node=\"{node}\"}} {up}\n")
    };
    let uptime = |node| {
        format!(
            "gossamer_worker_uptime_seconds{{application=\"{application}\",node=\"{node}\",worker=\"{node}\"}} "
        )
    };
    let page = get(port, "/metrics");
    for part in ["HTTP/1.1 200", &up(0, 1), &up(1, 1), &uptime(0), &uptime(1), "version=1.0.0"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(page.ends_with("# EOF\n") && page.matches("# TYPE gossamer_node_up").count() == 1, "{page}");
    // A client that says nothing holds up nobody.
    let _silent: Vec<TcpStream> =
        (0..100).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    signal(stopped, "STOP");
    let page = get(port, "/metrics");
    signal(stopped, "CONT");
    assert!(page.contains(&up(0, 1)) && page.contains(&up(1, 0)), "{page}");
    assert!(page.contains(&uptime(0)) && !page.contains(&uptime(1)), "{page}");
    assert!(get(port, "/").starts_with("HTTP/1.1 404"));

    // A process that listens in place of another one is not asked.
    let mut other = start(&mut rack.launch(1, "echo $$; exec sleep 1000"));
    let process = crate::common::read_numbers(other.child(), 1)[0];
    // For a moment, the shell that becomes `sleep` has no variables.
    let mut folder = None;
    eventually("it has its variables", || {
        folder = variable(process, "GOSSAMER_METRICS");
        folder.is_some()
    });
    let folder = folder.unwrap();
    let path = PathBuf::from(folder.strip_prefix("unix:").unwrap()).join("0");
    let _squatter = UnixListener::bind(&path).unwrap();
    let page = get(port, "/metrics");
    assert_eq!(page.matches("gossamer_node_up{").count(), 3, "{page}");
    assert!(page.contains(",node=\"0\"} 0\n") && page.contains(&up(1, 1)), "{page}");
    drop(other);
    eventually("its folder is gone", || !path.parent().unwrap().exists());
}
