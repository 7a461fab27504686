//! `gossamer run` over daemons, several of them on this machine, with shell scripts as nodes.

use crate::common::rack::{Daemon, Rack};
use crate::common::{eventually, fifo, finish, is_alive, read_numbers, start, write_script};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

#[test]
fn nodes_are_dealt_out_in_turn_and_know_each_others_ports() {
    let rack = Rack::new("turn", 2);
    let finished = finish(&mut rack.launch(3, "echo $GOSSAMER_NODES $GOSSAMER_TOKEN"));
    finished.ended_with(0).was_quiet();
    let rest: Vec<&str> = finished.lines().iter().map(|line| line.split_once("] ").unwrap().1).collect();
    assert!(rest.len() == 3 && rest.iter().all(|line| *line == rest[0]), "{finished:?}");
    let addresses: Vec<&str> = rest[0].split(' ').next().unwrap().split(',').collect();
    assert_eq!(addresses.len(), 3);
    assert!(addresses.iter().all(|address| address.starts_with("127.0.0.1:")), "{addresses:?}");
    rack.daemons[0].says("starts nodes [0, 2]");
    rack.daemons[1].says("starts nodes [1]");
}

#[test]
fn the_listening_socket_is_inherited() {
    let rack = Rack::new("listening", 2);
    // The inode of the inherited socket is that of the socket that listens at the node's own address.
    let script = "
        inode=$(readlink /proc/self/fd/$GOSSAMER_LISTEN_FD | tr -dc 0-9)
        port=$(echo $GOSSAMER_NODES | cut -d, -f$((GOSSAMER_NODE + 1)) | cut -d: -f2)
        grep -q \"0100007F:$(printf %04X $port) 00000000:0000 0A .* $inode \" /proc/net/tcp && echo listens";
    let finished = finish(&mut rack.launch(2, script));
    assert_eq!(finished.ended_with(0).lines(), ["[node 0] listens", "[node 1] listens"]);
}

#[test]
fn nodes_of_one_machine_use_unix_sockets() {
    let rack = Rack::new("one", 2);
    let mut command =
        rack.command(0, "run", &["-n", "2", "--hosts", "b", "--", "/bin/sh", "-c", "echo $GOSSAMER_NODES"]);
    let finished = finish(&mut command);
    assert_eq!(finished.ended_with(0).out.matches("unix:gossamer-").count(), 4, "{finished:?}");
    rack.daemons[1].says("starts nodes [0, 1]");
}

#[test]
fn nodes_have_the_surroundings_of_the_launcher() {
    let rack = Rack::new("surroundings", 2);
    let script = format!(
        "cd /usr/lib; umask 027; ulimit -S -n 200; export WORD='a  b'
        {} run --config {} --threads 3 --no-prefix -- sh -c 'echo $PWD $(umask) $(ulimit -S -n) $GOSSAMER_THREADS \"$WORD\"'",
        env!("CARGO_BIN_EXE_gossamer"),
        rack.config(0).display()
    );
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", &script]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let finished = finish(&mut command);
    let line = "/usr/lib 0027 200 3 a  b\n";
    assert_eq!(finished.ended_with(0).out, format!("{line}{line}"));
}

#[test]
fn the_fabric_of_the_command_line_goes_before_that_of_the_environment() {
    let rack = Rack::new("fabric", 1);
    let mut command = rack.command(0, "run", &["--fabric", "verbs", "--no-prefix", "--", "/bin/sh", "-c"]);
    let finished = finish(command.arg("echo $GOSSAMER_FABRIC").env("GOSSAMER_FABRIC", "tcp"));
    assert_eq!(finished.ended_with(0).out, "verbs\n");
}

#[test]
fn input_output_and_errors_travel() {
    let rack = Rack::new("streams", 2);
    let mut started = start(rack.launch(2, "cat; echo err >&2; printf last").stdin(Stdio::piped()));
    let mut input = started.child().stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        for line in 0..100_000 {
            writeln!(input, "line {line}").unwrap();
        }
    });
    let finished = started.finish();
    writer.join().unwrap();
    finished.ended_with(0);
    let (last, lines): (Vec<&str>, Vec<&str>) = finished.out.lines().partition(|line| line.ends_with("last"));
    assert_eq!(last.len(), 2);
    assert!(lines.iter().enumerate().all(|(index, line)| *line == format!("[node 0] line {index}")));
    assert_eq!(lines.len(), 100_000);
    let mut errors: Vec<&str> = finished.err.lines().collect();
    errors.sort_unstable();
    assert_eq!(errors, ["[node 0] err", "[node 1] err"]);
}

#[test]
fn a_slow_reader_gets_all_output_from_a_rack() {
    let rack = Rack::new("slow", 2);
    let mut started = start(&mut rack.launch(2, "head -c 1000000 /dev/zero | tr '\\0' '\\n'"));
    std::thread::sleep(std::time::Duration::from_secs(2));
    let (mut out, mut text) = (started.child().stdout.take().unwrap(), String::new());
    out.read_to_string(&mut text).unwrap();
    started.finish().ended_with(0);
    assert_eq!(text.lines().count(), 2_000_000);
}

#[test]
fn the_program_is_shipped_once_and_whole() {
    let rack = Rack::new("shipped", 2);
    let program = rack.scratch.path("program");
    let run = |text: &str| {
        write_script(&program, &format!("#!/bin/sh\necho {text}\n#{}\n", "x".repeat(3_000_000)));
        finish(&mut rack.command(0, "run", &["--", program.to_str().unwrap()]))
    };
    for (text, known) in [("one", 1), ("two", 2), ("one", 2)] {
        let finished = run(text);
        let lines = [format!("[node 0] {text}"), format!("[node 1] {text}")];
        assert_eq!(finished.ended_with(0).lines(), lines);
        for cache in ["cache-a", "cache-b"] {
            let files: Vec<_> =
                std::fs::read_dir(rack.scratch.path(cache)).unwrap().map(|file| file.unwrap()).collect();
            assert_eq!(files.len(), known);
            for file in files {
                assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o755);
            }
        }
    }
}

#[test]
fn a_program_that_was_damaged_in_the_cache_is_shipped_again() {
    let rack = Rack::new("damaged", 2);
    let program = rack.scratch.path("program");
    write_script(&program, "#!/bin/sh\necho right\n");
    let run = || finish(&mut rack.command(0, "run", &["--", program.to_str().unwrap()]));
    run().ended_with(0);
    for file in std::fs::read_dir(rack.scratch.path("cache-b")).unwrap() {
        std::fs::write(file.unwrap().path(), "#!/bin/sh\necho wrong\n").unwrap();
    }
    assert_eq!(run().ended_with(0).lines(), ["[node 0] right", "[node 1] right"]);
}

#[test]
fn a_program_that_does_not_fit_into_the_cache_is_refused() {
    let rack = Rack::without_daemons("fit", 1);
    rack.configure(0, "[cache]\ndirectory = \"cache\"\nmebibytes = 1\n");
    let _daemon = rack.start(0);
    let program = rack.scratch.path("program");
    write_script(&program, &format!("#!/bin/sh\n#{}\n", "x".repeat(3_000_000)));
    let finished = finish(&mut rack.command(0, "run", &["--", program.to_str().unwrap()]));
    finished.ended_with(3).said("raise `mebibytes` in [cache]");
}

#[test]
fn a_failed_node_ends_those_of_other_machines_and_the_report_names_its_machine() {
    let rack = Rack::new("failed", 2);
    let script = "
        echo $$
        [ $GOSSAMER_NODE = 1 ] || exec sleep 1000
        read line <$WAIT; echo 'worker 2: overdrawn' >/proc/self/fd/$GOSSAMER_REPORT_FD; kill -ABRT $$";
    let wait = fifo(&rack.scratch);
    let mut started = start(rack.launch(4, script).env("WAIT", &wait));
    let nodes = read_numbers(started.child(), 4);
    std::fs::write(&wait, "\n").unwrap();
    let finished = started.finish();
    finished
        .ended_with(134)
        .said("node 1 on b (pid ")
        .said("SIGABRT")
        .said("node 1 said: worker 2: overdrawn");
    eventually("all nodes end", || !nodes.iter().any(|&node| is_alive(node)));
}

#[test]
fn the_exit_status_travels() {
    let rack = Rack::new("status", 2);
    finish(&mut rack.launch(2, "exit 0")).ended_with(0).was_quiet();
    finish(&mut rack.launch(2, "[ $GOSSAMER_NODE = 1 ] && exec sleep 1000; exit 42")).ended_with(42);
}

#[test]
fn interrupts_reach_all_machines() {
    let rack = Rack::new("interrupts", 2);
    let mut started =
        start(&mut rack.launch(2, "trap 'echo bye; exit 0' INT; echo $$; while :; do sleep 0.1; done"));
    read_numbers(started.child(), 2);
    started.signal("INT");
    let finished = started.finish();
    assert_eq!(finished.ended_with(130).lines(), ["[node 0] bye", "[node 1] bye"]);
}

#[test]
fn nodes_end_with_their_launcher_and_daemons_go_on() {
    let rack = Rack::new("launcher", 2);
    let mut started = start(&mut rack.launch(2, "echo $$; exec sleep 1000"));
    let nodes = read_numbers(started.child(), 2);
    started.signal("KILL");
    started.finish();
    eventually("the nodes end", || !nodes.iter().any(|&node| is_alive(node)));
    rack.daemons[1].says("killed nodes [1]: the launcher is lost");
    finish(&mut rack.launch(2, "true")).ended_with(0);
}

#[test]
fn a_daemon_that_is_stopped_ends_its_nodes_and_says_which() {
    let mut rack = Rack::new("stopped", 2);
    let mut started = start(&mut rack.launch(3, "echo $$; exec sleep 1000"));
    let nodes = read_numbers(started.child(), 3);
    rack.daemons[0].process.signal("TERM");
    let finished = started.finish();
    finished.ended_with(75).said(" on a (pid ").said("the daemon was stopped");
    rack.daemons[0].says("killed nodes [0, 2]: the daemon was stopped");
    eventually("all nodes end", || !nodes.iter().any(|&node| is_alive(node)));
    rack.daemons.remove(0).process.finish().ended_with(0);
    let again = rack.start(0);
    finish(&mut rack.launch(2, "true")).ended_with(0);
    drop(again);
}

#[test]
fn a_daemon_that_is_killed_takes_its_nodes_with_it_and_the_machine_is_lost() {
    let rack = Rack::new("killed", 2);
    let mut started = start(&mut rack.launch(2, "echo $$; exec sleep 1000"));
    let nodes = read_numbers(started.child(), 2);
    rack.daemons[1].process.signal("KILL");
    started.finish().ended_with(75).said("node 1 on b (pid ").said("is lost");
    eventually("all nodes end", || !nodes.iter().any(|&node| is_alive(node)));
}

#[test]
fn a_daemon_that_hangs_is_a_lost_machine() {
    let rack = Rack::new("hangs", 2);
    let mut started = start(&mut rack.launch(2, "echo $$; exec sleep 1000"));
    read_numbers(started.child(), 2);
    rack.daemons[1].process.signal("STOP");
    started
        .finish()
        .ended_with(75)
        .said("node 1 on b (pid ")
        .said("nothing was heard of its daemon for 10 s");
    rack.daemons[1].process.signal("CONT");
    rack.daemons[1].says("killed nodes [1]");
}

#[test]
fn programs_that_cannot_run_are_the_launchers_mistake() {
    let rack = Rack::new("cannot", 2);
    let run = |program: &str| finish(&mut rack.command(0, "run", &["--", program]));
    run("./missing").ended_with(127).said("no such file");
    run("gossamer-missing").ended_with(127).said("not in PATH");
    run(rack.config(0).to_str().unwrap()).ended_with(126).said("permission denied");
    let script = rack.scratch.path("script");
    write_script(&script, "#!/no/such/interpreter\n");
    run(script.to_str().unwrap()).ended_with(126).said("interpreter");
    rack.daemons[0].says("ended");
}

#[test]
fn many_nodes_on_two_machines_run() {
    let rack = Rack::new("many", 2);
    let finished = finish(&mut rack.launch(100, "echo $GOSSAMER_NODE"));
    assert_eq!(finished.ended_with(0).out.lines().count(), 100);
}

#[test]
fn applications_at_the_same_time_do_not_mix() {
    let rack = Rack::new("same-time", 2);
    let started: Vec<_> = (0..8)
        .map(|index| start(&mut rack.launch(4, &format!("sleep 0.2; echo {index} $GOSSAMER_TOKEN"))))
        .collect();
    let mut tokens = std::collections::BTreeSet::new();
    for (index, started) in started.into_iter().enumerate() {
        let finished = started.finish();
        finished.ended_with(0);
        assert_eq!(finished.out.lines().count(), 4);
        assert!(finished.out.lines().all(|line| line.contains(&format!("] {index} "))));
        tokens.extend(finished.out.lines().map(|line| line.rsplit(' ').next().unwrap().to_owned()));
    }
    assert_eq!(tokens.len(), 8);
}

#[test]
fn a_daemon_of_root_starts_nodes_as_the_user_of_the_configuration() {
    if !rustix::process::geteuid().is_root() {
        crate::common::skipped("nodes of another user need root");
        return;
    }
    let rack = Rack::without_daemons("user", 1);
    std::fs::set_permissions(&rack.scratch.0, std::fs::Permissions::from_mode(0o755)).unwrap();
    rack.configure(0, "user = \"nobody\"\n");
    // A list of groups for this test, in which the user is in one more group.
    let groups = rack.scratch.path("group");
    let more = "gossamer-test:x:64999:nobody\n";
    std::fs::write(&groups, std::fs::read_to_string("/etc/group").unwrap() + more).unwrap();
    let mut daemon = Command::new("unshare");
    daemon.args(["--mount", "/bin/sh", "-c", "mount --bind \"$0\" /etc/group && exec \"$@\""]).arg(&groups);
    daemon.arg(env!("CARGO_BIN_EXE_gossamer")).args(["daemon", "--config"]).arg(rack.config(0));
    daemon.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let daemon = Daemon::start_listening(&mut daemon);
    let mut started = start(&mut rack.launch(2, "echo $(id -un) $(id -G) >/dev/stdout; exec sleep 1000"));
    let line = "[node 0] nobody 65534 64999\n".len();
    let mut out = vec![0; 2 * line];
    started.child().stdout.as_mut().unwrap().read_exact(&mut out).unwrap();
    let out = String::from_utf8_lossy(&out);
    assert_eq!(out.matches("] nobody 65534 64999\n").count(), 2, "{out}");
    let report = "echo word >/proc/self/fd/$GOSSAMER_REPORT_FD; exit 3";
    finish(&mut rack.launch(1, report)).ended_with(3).said("node 0 said: word");
    let nodes: Vec<u32> = {
        let list: serde_json::Value = serde_json::from_str(&rack.ask("ps", &["--json"]).out).unwrap();
        let nodes = list[0]["nodes"].as_array().unwrap().clone();
        nodes.iter().map(|node| node["pid"].as_u64().unwrap() as u32).collect()
    };
    daemon.process.signal("KILL");
    eventually("they end with the daemon nevertheless", || !nodes.iter().any(|&node| is_alive(node)));
    started.finish().ended_with(75);
}
#[test]
fn a_second_interrupt_kills_on_all_machines() {
    let rack = Rack::new("second", 2);
    let mut started =
        start(&mut rack.launch(2, "trap 'echo trapped' INT; echo $$; while :; do sleep 0.1; done"));
    let nodes = read_numbers(started.child(), 2);
    started.signal("INT");
    let (mut out, mut text, mut byte) = (started.child().stdout.take().unwrap(), String::new(), [0]);
    while text.matches("trapped").count() < 2 {
        assert_eq!(out.read(&mut byte).unwrap(), 1);
        text.push(char::from(byte[0]));
    }
    started.signal("INT");
    started.finish().ended_with(130).was_quiet();
    assert!(!nodes.iter().any(|&node| is_alive(node)));
}
