//! `gossamer::process`: programs, their output and their end.

use gossamer::process::Command;
use gossamer::spawn;
use integration_tests::{in_runtime, panic_text, watched};
use std::io::{Read, Write};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn the_output_of_a_program_is_read_while_other_fibers_run() {
    static OTHER: AtomicBool = AtomicBool::new(false);
    in_runtime(1, || {
        let other = spawn(|| OTHER.store(true, Ordering::Relaxed));
        // More than a pipe has room for, in both pipes.
        let script = "head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2; exit 3";
        let output = Command::new("sh").args(["-c", script]).output().unwrap();
        assert_eq!((output.stdout.len(), output.stderr.len()), (300_000, 200_000));
        assert_eq!(output.status.code(), Some(3));
        assert!(OTHER.load(Ordering::Relaxed));
        other.join();
    });
}

#[test]
fn a_fiber_talks_to_a_program_and_waits_for_its_end() {
    in_runtime(2, || {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        stdin.write_all(b"ping").unwrap();
        let mut answer = [0; 4];
        stdout.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"ping");
        assert!(child.try_wait().unwrap().is_none());
        drop(stdin);
        assert!(child.wait().unwrap().success());
        assert!(child.wait().unwrap().success(), "it is known from then on");
        assert_eq!(stdout.read(&mut answer).unwrap(), 0);
    });
}

#[test]
fn many_fibers_wait_for_programs_at_once_and_each_hears_of_its_own() {
    in_runtime(2, || {
        let fibers: Vec<_> = (0..20)
            .map(|number: i32| {
                let run = |number: i32| {
                    Command::new("sh")
                        .args(["-c", &format!("sleep 0.0{}; exit {number}", number % 4)])
                        .status()
                        .unwrap()
                        .code()
                        .unwrap()
                };
                (number, gossamer::spawn_with(run, number))
            })
            .collect();
        fibers.into_iter().for_each(|(number, fiber)| assert_eq!(fiber.join(), number));
    });
}

#[test]
fn the_output_of_one_program_is_the_input_of_the_next() {
    in_runtime(1, || {
        let mut first = Command::new("printf").arg("b\\na\\n").stdout(Stdio::piped()).spawn().unwrap();
        let between = first.stdout.take().unwrap().into_stdio().unwrap();
        let output = Command::new("sort").stdin(between).output().unwrap();
        assert_eq!(output.stdout, b"a\nb\n");
        assert!(first.wait().unwrap().success());
    });
}

#[test]
fn a_program_that_is_killed_or_not_there_is_told_as_in_std() {
    in_runtime(1, || {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        child.kill().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&child.wait().unwrap()), Some(9));
        let error = Command::new("no-such-program-anywhere").spawn().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
        let property = gossamer::entrust(0_u64);
        let text = panic_text(|| property.apply(|_| Command::new("true").status().is_ok()));
        assert!(text.contains("blocking `Command::status` inside a delegated closure"), "{text}");
    });
}

#[test]
fn a_program_does_not_inherit_the_processor_of_a_pinned_worker() {
    watched(|| {
        let allowed = |status: &str| {
            status.lines().find(|line| line.starts_with("Cpus_allowed_list:")).unwrap().to_owned()
        };
        let all = allowed(&std::fs::read_to_string("/proc/thread-self/status").unwrap());
        gossamer::run(gossamer::Config::default().threads(1).pin(true), move || {
            let output = Command::new("cat").arg("/proc/self/status").output().unwrap();
            assert_eq!(allowed(str::from_utf8(&output.stdout).unwrap()), all);
        });
    });
}

#[test]
fn threads_and_async_tasks_wait_for_programs_too() {
    watched(|| {
        assert_eq!(Command::new("echo").arg("one").output().unwrap().stdout, b"one\n");
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let status = tokio.block_on(async {
            let mut child = Command::new("sh").args(["-c", "sleep 0.05; exit 5"]).spawn().unwrap();
            child.wait_async().await.unwrap()
        });
        assert_eq!(status.code(), Some(5));
    });
}
