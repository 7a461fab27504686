//! Child processes, each under a watchdog.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Seconds a child may take; `TEST_WATCHDOG_SECONDS` overrides it, for slow machines and for debuggers.
const LIMIT: u64 = 300;
/// How often the watchdog looks.
const LOOK: Duration = Duration::from_millis(2);

/// How a child ended, and what it wrote.
#[derive(Debug)]
pub struct Ended {
    pub status: Option<i32>,
    pub output: Vec<u8>,
    pub errors: String,
}

impl Ended {
    /// The output of a child that ended well and had no errors to report.
    pub fn well(self) -> Vec<u8> {
        let text = String::from_utf8_lossy(&self.output);
        assert_eq!((self.status, self.errors.as_str()), (Some(0), ""), "after {text:?}");
        self.output
    }

    /// The output as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.output).expect("this output is text")
    }
}

/// A command whose output is caught, and whose runtime only the test sets up.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GOSSAMER_") {
            command.env_remove(name);
        }
    }
    // On a busy machine, unoptimised programs rightly get reports that they compute for long.
    command.env("GOSSAMER_BLOCKED_MILLISECONDS", "0");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Ended {
    run_with_input(command, Vec::new())
}

/// Runs a command to its end; its standard input is a pipe with these bytes.
pub fn run_with_input(command: &mut Command, input: Vec<u8>) -> Ended {
    let mut child = Watched::start(command.stdin(Stdio::piped()));
    let mut to_child = child.0.stdin.take().expect("it is piped");
    // A reader that does not read to the end breaks the pipe, which is not a failure.
    let writer = thread::spawn(move || drop(to_child.write_all(&input)));
    let output = reader(child.0.stdout.take());
    let errors = reader(child.0.stderr.take());
    let status = child.wait();
    writer.join().expect("the writer does not panic");
    let [output, errors] = [output, errors].map(|reader| reader.join().expect("the output can be read"));
    Ended { status: status.code(), output, errors: String::from_utf8_lossy(&errors).into_owned() }
}

fn reader(source: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut source = source.expect("it is piped");
        source.read_to_end(&mut bytes).map(|_| bytes).expect("a pipe can be read")
    })
}

/// A child that does not outlive its test.
pub struct Watched(pub Child);

impl Watched {
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    /// Waits for its end, but not for ever.
    pub fn wait(&mut self) -> ExitStatus {
        let given = std::env::var("TEST_WATCHDOG_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
        let limit = Duration::from_secs(given.unwrap_or(LIMIT));
        let start = Instant::now();
        loop {
            match self.0.try_wait().expect("the system knows its children") {
                Some(status) => return status,
                None if start.elapsed() > limit => panic!("the child still runs after {limit:?}: it hangs"),
                None => thread::sleep(LOOK),
            }
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // It may have ended, and then there is nothing to kill.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
