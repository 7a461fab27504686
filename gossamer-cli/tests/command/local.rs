//! `gossamer run --local`, with shell scripts as nodes: what they are given, and where their output goes.

use crate::common::{Scratch, finish, gossamer, local, start, write_script};
use std::io::{Read, Write};
use std::process::Stdio;

#[test]
fn nodes_know_their_place_and_share_a_token() {
    let finished =
        finish(&mut local(3, "echo $GOSSAMER_NODE $GOSSAMER_NODES $GOSSAMER_TOKEN $GOSSAMER_THREADS"));
    finished.ended_with(0).was_quiet();
    let mut rest = Vec::new();
    for (node, line) in finished.lines().iter().enumerate() {
        let line = line.strip_prefix(&format!("[node {node}] {node} ")).unwrap();
        rest.push(line);
    }
    assert_eq!(rest.len(), 3);
    assert!(rest.iter().all(|line| *line == rest[0]));
    let (addresses, token) = rest[0].trim_end().split_once(' ').unwrap();
    let addresses: Vec<&str> = addresses.split(',').collect();
    assert_eq!(addresses.len(), 3);
    assert!(addresses.iter().all(|address| address.starts_with("unix:")));
    assert!(addresses[0] != addresses[1] && addresses[1] != addresses[2]);
    assert!(token.len() == 64 && token.bytes().all(|byte| byte.is_ascii_hexdigit()));
}

#[test]
fn two_applications_have_different_tokens_and_addresses() {
    let run = || finish(&mut local(1, "echo $GOSSAMER_NODES; echo $GOSSAMER_TOKEN"));
    let (one, two) = (run(), run());
    for (one, two) in one.out.lines().zip(two.out.lines()) {
        assert_ne!(one, two);
    }
}

#[test]
fn an_application_inside_another_has_a_place_of_its_own() {
    let inner =
        "[ $GOSSAMER_NODE = 0 ] || exit 0; exec \"$GOSSAMER\" run --local 1 -- sh -c 'echo $GOSSAMER_NODES'";
    let finished = finish(local(2, inner).env("GOSSAMER", env!("CARGO_BIN_EXE_gossamer")));
    finished.ended_with(0);
    assert!(!finished.out.contains(','), "{finished:?}");
}

#[test]
fn the_number_of_workers_is_passed_on() {
    let arguments =
        ["run", "--local", "1", "--threads", "7", "--", "/bin/sh", "-c", "echo $GOSSAMER_THREADS"];
    assert_eq!(finish(&mut gossamer(&arguments)).out, "[node 0] 7\n");
}

#[test]
fn the_fabric_is_passed_on_in_place_of_the_variable_and_is_one_that_there_is() {
    let fabric = |options: &[&str]| {
        let mut command = gossamer(&["run", "--local", "1"]);
        command.args(options).args(["--", "/bin/sh", "-c", "echo $GOSSAMER_FABRIC"]);
        finish(command.env("GOSSAMER_FABRIC", "shm"))
    };
    assert_eq!(fabric(&["--fabric", "tcp"]).ended_with(0).out, "[node 0] tcp\n");
    assert_eq!(fabric(&[]).ended_with(0).out, "[node 0] shm\n");
    fabric(&["--fabric", "rdma"]).ended_with(2).said("[possible values: auto, shm, tcp, verbs]");
}

#[test]
fn the_file_of_a_trace_is_passed_on_with_its_whole_name() {
    let scratch = Scratch::new("trace");
    let mut command = gossamer(&[
        "run",
        "--local",
        "1",
        "--trace",
        "trace.json",
        "--",
        "/bin/sh",
        "-c",
        "echo $GOSSAMER_TRACE",
    ]);
    let finished = finish(command.current_dir(&scratch.0));
    assert_eq!(finished.ended_with(0).out, format!("[node 0] {}\n", scratch.path("trace.json").display()));
    finish(&mut gossamer(&["run", "--local", "1", "--trace", "", "--", "true"])).ended_with(2);
}

#[test]
fn the_protection_is_passed_on_in_place_of_the_variable_and_is_one_that_there_is() {
    let protection = |options: &[&str]| {
        let mut command = gossamer(&["run", "--local", "1"]);
        command.args(options).args(["--", "/bin/sh", "-c", "echo $GOSSAMER_PROTECTION"]);
        finish(command.env("GOSSAMER_PROTECTION", "checked"))
    };
    assert_eq!(protection(&["--protection", "encrypted"]).ended_with(0).out, "[node 0] encrypted\n");
    assert_eq!(protection(&[]).ended_with(0).out, "[node 0] checked\n");
    protection(&["--protection", "secret"])
        .ended_with(2)
        .said("[possible values: checked, authenticated, encrypted]");
}

#[test]
fn arguments_reach_the_program_as_they_are() {
    let arguments = ["run", "--local", "1", "--", "/bin/echo", "--local", "a  b", "-n", "--", "*"];
    assert_eq!(finish(&mut gossamer(&arguments)).out, "[node 0] --local a  b -n -- *\n");
}

#[test]
fn standard_input_goes_to_node_0_piece_by_piece() {
    let mut started = start(local(3, "cat; echo end").stdin(Stdio::piped()));
    let child = started.child();
    let (mut input, mut out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut seen = String::new();
    for word in ["first", "second"] {
        writeln!(input, "{word}").unwrap();
        let mut byte = [0];
        while !seen.contains(word) {
            assert_eq!(out.read(&mut byte).unwrap(), 1, "{seen:?}");
            seen.push(char::from(byte[0]));
        }
    }
    drop(input);
    out.read_to_string(&mut seen).unwrap();
    started.finish().ended_with(0);
    let mut lines: Vec<&str> = seen.lines().collect();
    lines.sort_unstable();
    let expected = ["[node 0] end", "[node 0] first", "[node 0] second", "[node 1] end", "[node 2] end"];
    assert_eq!(lines, expected);
}

#[test]
fn much_input_that_nobody_reads_stops_nothing() {
    let script = format!("yes | {} run --local 2 -- true", env!("CARGO_BIN_EXE_gossamer"));
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", &script]).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(&mut command).ended_with(0);
}

#[test]
fn much_input_arrives_whole() {
    let mut started = start(local(2, "[ $GOSSAMER_NODE = 1 ] || wc -c").stdin(Stdio::piped()));
    let mut input = started.child().stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(&vec![b'x'; 3_000_000]));
    let finished = started.finish();
    writer.join().unwrap().unwrap();
    assert_eq!(finished.ended_with(0).out, "[node 0] 3000000\n");
}

#[test]
fn the_two_outputs_stay_apart() {
    let finished = finish(&mut local(2, "echo out; echo err >&2"));
    assert_eq!(finished.ended_with(0).lines(), ["[node 0] out", "[node 1] out"]);
    assert_eq!(finished.err.lines().count(), 2);
    finished.said("[node 0] err\n").said("[node 1] err\n");
}

#[test]
fn lines_of_different_nodes_do_not_mix_and_the_last_one_needs_no_end() {
    let script =
        "for i in 1 2 3 4 5; do printf $GOSSAMER_NODE; printf $i; sleep 0.01; echo; done; printf last";
    let finished = finish(&mut local(4, script));
    for node in 0..4 {
        for i in 1..=5 {
            assert!(finished.out.contains(&format!("[node {node}] {node}{i}\n")), "{finished:?}");
        }
        assert!(finished.out.contains(&format!("[node {node}] last\n")), "{finished:?}");
    }
}

#[test]
fn a_line_of_megabytes_loses_nothing() {
    let finished = finish(&mut local(1, "head -c 2000000 /dev/zero | tr '\\0' x"));
    assert_eq!(finished.ended_with(0).out.matches('x').count(), 2_000_000);
    assert!(finished.out.lines().all(|line| line.starts_with("[node 0] x")));
}

#[test]
fn without_prefix_output_is_passed_on_byte_by_byte() {
    let script = "printf 'a\\nb\\000c'; [ $GOSSAMER_NODE = 0 ]";
    let arguments = ["run", "--local", "1", "--no-prefix", "--", "/bin/sh", "-c", script];
    assert_eq!(finish(&mut gossamer(&arguments)).ended_with(0).out, "a\nb\0c");
}

#[test]
fn a_slow_reader_gets_all_output() {
    let mut started = start(&mut local(2, "head -c 1000000 /dev/zero | tr '\\0' '\\n'"));
    // The nodes end long before this is read, except for what still waits in their pipes.
    std::thread::sleep(std::time::Duration::from_secs(3));
    let mut out = started.child().stdout.take().unwrap();
    let mut text = String::new();
    out.read_to_string(&mut text).unwrap();
    started.finish().ended_with(0);
    assert_eq!(text.lines().count(), 2_000_000);
}

#[test]
fn a_reader_that_goes_away_ends_the_application_quietly() {
    let mut started = start(&mut local(3, "echo $$; exec yes"));
    let mut head = vec![0; 1000];
    let mut out = started.child().stdout.take().unwrap();
    out.read_exact(&mut head).unwrap();
    drop(out);
    started.finish().ended_with(141).was_quiet();
}

#[test]
fn a_full_disk_is_reported() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    finish(local(2, "echo text; exec sleep 1000").stdout(full))
        .ended_with(74)
        .said("No space left on device");
}

#[test]
fn closed_standard_streams_do_no_harm() {
    let script = format!(
        "{} run --local 2 -- sh -c 'echo out; echo err >&2' <&- 2>&-",
        env!("CARGO_BIN_EXE_gossamer")
    );
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", &script]).stdout(Stdio::piped()).stderr(Stdio::piped());
    assert_eq!(finish(&mut command).ended_with(0).lines(), ["[node 0] out", "[node 1] out"]);
}

#[test]
fn a_program_that_is_not_there_is_status_127() {
    let run = |program| finish(&mut gossamer(&["run", "--local", "3", "--", program]));
    run("./missing").ended_with(127).said("./missing").said("no such file");
    run("gossamer-missing").ended_with(127).said("not in PATH");
}

#[test]
fn a_program_that_cannot_be_executed_is_status_126() {
    let scratch = Scratch::new("not-executable");
    let run = |name: &str| {
        finish(&mut gossamer(&["run", "--local", "2", "--", scratch.path(name).to_str().unwrap()]))
    };
    std::fs::write(scratch.path("data"), "data").unwrap();
    run("data").ended_with(126).said("permission denied");
    write_script(&scratch.path("script"), "#!/no/such/interpreter\n");
    run("script").ended_with(126).said("interpreter");
}

#[test]
fn mistakes_on_the_command_line_are_status_2() {
    for arguments in [&["run", "--local", "0", "--", "true"][..], &["run", "--local", "2"], &["walk"]] {
        finish(&mut gossamer(arguments)).ended_with(2).said("--help");
    }
}

#[test]
fn many_nodes_run() {
    let finished = finish(&mut local(100, "echo $GOSSAMER_NODE"));
    assert_eq!(finished.ended_with(0).out.lines().count(), 100);
}

#[test]
fn nodes_have_the_limits_of_the_launcher_and_no_files_of_it() {
    let script = format!(
        "ulimit -S -n 100; ls /proc/self/fd | wc -l
        {} run --local 2 --no-prefix -- sh -c 'echo $(ulimit -n) $(ls /proc/self/fd | wc -l)'",
        env!("CARGO_BIN_EXE_gossamer")
    );
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let finished = finish(&mut command);
    let (without, with) = finished.ended_with(0).out.split_once('\n').unwrap();
    // One more: the report pipe.
    let files: u32 = without.trim().parse::<u32>().unwrap() + 1;
    assert_eq!(with, format!("100 {files}\n100 {files}\n"));
}
