//! Programs that are measured. Each is ended after a certain time, whatever happens to this process.

use super::interruption::Interruption;
use super::tree::{self, Scales};
use crate::failure::{Context, Failure, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// How often to check whether a program has ended,
const LOOK: Duration = Duration::from_millis(5);
/// and how often to look at its memory.
const WEIGH: Duration = Duration::from_millis(50);
/// With fewer looks than this, the most memory that it had may be missed.
const ENOUGH: usize = 4;
/// How long a program has to end once it was asked to.
const GRACE: Duration = Duration::from_secs(5);

/// A program that is to be started.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    words: Vec<OsString>,
    variables: Vec<(&'static str, String)>,
    processors: Option<String>,
    seconds: u64,
}

impl Program {
    /// This program, for at most this many seconds.
    pub(crate) fn new(path: impl AsRef<OsStr>, seconds: u64) -> Self {
        let words = vec![path.as_ref().to_owned()];
        Self { words, variables: Vec::new(), processors: None, seconds }
    }

    pub(crate) fn arguments<T: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = T>) -> Self {
        self.words.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    pub(crate) fn variable(mut self, name: &'static str, value: impl ToString) -> Self {
        self.variables.push((name, value.to_string()));
        self
    }

    /// Lets it use this processor only; any processor if the machine does not have two.
    pub(crate) fn pinned(mut self, processor: usize) -> Self {
        let several = std::thread::available_parallelism().is_ok_and(|count| count.get() > processor);
        self.processors = several.then(|| processor.to_string());
        self
    }

    /// Starts it in a process group of its own, so that Ctrl-C at a terminal does not end it in the middle.
    pub(crate) fn start(&self) -> Result<Running> {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new("timeout");
        command.arg(format!("--kill-after={}", GRACE.as_secs())).arg(self.seconds.to_string());
        if let Some(processors) = &self.processors {
            command.args(["taskset", "--cpu-list", processors]);
        }
        command.args(&self.words).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let name = self.words[0].to_string_lossy().into_owned();
        let mut child = command.spawn().context(format!("{name} cannot be started"))?;
        let texts = [child.stdout.take().map(reader), child.stderr.take().map(reader)];
        Ok(Running { child, name, texts, seconds: self.seconds })
    }

    /// Its output, once it has ended with success.
    pub(crate) fn output(&self, interruption: &Interruption) -> Result<String> {
        self.start()?.finish(interruption, &mut None)
    }

    /// The same, and the memory that it and its children had at most, in bytes, if it took long enough to be weighed.
    pub(crate) fn output_and_memory(&self, interruption: &Interruption) -> Result<(String, Option<u64>)> {
        let mut scales = Some(Scales::default());
        let text = self.start()?.finish(interruption, &mut scales)?;
        let weights = scales.map(|scales| scales.weights).filter(|weights| weights.len() >= ENOUGH);
        Ok((text, weights.unwrap_or_default().into_iter().max()))
    }
}

/// Reads to the end, so that no writer waits for room in a pipe.
fn reader(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    spawn(move || {
        let mut bytes = Vec::new();
        // After an error, what was read before is all there is.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// What was read; nothing if another process still holds the pipe although the program has ended.
fn read(reader: JoinHandle<String>) -> Option<String> {
    let begun = Instant::now();
    while !reader.is_finished() {
        if begun.elapsed() > GRACE {
            return None;
        }
        sleep(LOOK);
    }
    reader.join().ok()
}

/// A program that runs. It is ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    name: String,
    texts: [Option<JoinHandle<String>>; 2],
    seconds: u64,
}

impl Running {
    /// Waits for its end, and weighs it meanwhile if there are `scales`.
    fn finish(mut self, interruption: &Interruption, scales: &mut Option<Scales>) -> Result<String> {
        let mut due = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().context(&self.name)? {
                break status;
            }
            if interruption.has_come() {
                return Err(Failure::new(format!("{}: interrupted", self.name)));
            }
            if let Some(scales) = scales.as_mut().filter(|_| Instant::now() >= due) {
                scales.weigh(self.child.id());
                due = Instant::now() + WEIGH;
            }
            sleep(LOOK);
        };
        let [output, errors] = self.texts.each_mut().map(|text| text.take().and_then(read));
        let output = output.ok_or_else(|| Failure::new(format!("{}: its output has no end", self.name)))?;
        if status.success() { Ok(output) } else { Err(self.failure(status, &errors.unwrap_or_default())) }
    }

    fn failure(&self, status: ExitStatus, errors: &str) -> Failure {
        let Self { name, seconds, .. } = self;
        if status.code() == Some(124) {
            return Failure::timeout(format!("{name}: ended after {seconds} s"));
        }
        // After the error of a compiler there is what follows from it, and after the message of a panic a hint.
        let is_error = |line: &&str| line.contains("error: ");
        let is_news = |line: &&str| line.contains(char::is_alphabetic) && !line.starts_with("note:");
        let said = errors.lines().find(is_error).or_else(|| errors.lines().rev().find(is_news));
        let said = said.unwrap_or("it said nothing");
        Failure::new(format!("{name}: {status}: {said}"))
    }

    /// The processor time it and its children have had so far.
    pub(crate) fn processor_time(&self) -> Duration {
        tree::processor_time(self.child.id())
    }

    /// Waits until it listens at a port.
    ///
    /// # Errors
    /// It ended before, or did not listen within ten seconds.
    pub(crate) fn await_port(&mut self, port: u16) -> Result<()> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(10) {
            if TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok() {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait().context(&self.name)? {
                return Err(Failure::new(format!("{}: {status}, before it served", self.name)));
            }
            sleep(LOOK);
        }
        Err(Failure::timeout(format!("{}: nobody listens at port {port}", self.name)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The number of a process that was waited for is no longer its own.
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        let group = Pid::from_child(&self.child);
        // `timeout` passes the signal on, and waits: so the processor time of all of them is counted as our children's.
        let _ = kill_process_group(group, Signal::TERM);
        let begun = Instant::now();
        while begun.elapsed() < GRACE {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            sleep(LOOK);
        }
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Whether a program can be found by its name.
pub(crate) fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, seconds: u64) -> Program {
        Program::new("sh", seconds).arguments(["-c", script])
    }

    #[test]
    fn what_a_program_prints_comes_back_and_its_last_words_if_it_fails() {
        let interruption = Interruption::default();
        let printed = shell("echo $WORD", 60).variable("WORD", 7).pinned(0).output(&interruption);
        assert_eq!(printed.unwrap(), "7\n");
        let failure = shell("echo lost >&2; exit 3", 60).output(&interruption).unwrap_err();
        assert!(failure.to_string().ends_with("lost"), "{failure}");
        let compiler = "echo 'a.c:1: fatal error: no a.h'; echo 'compilation terminated.'";
        let failure = shell(&format!("({compiler}) >&2; exit 1"), 60).output(&interruption).unwrap_err();
        assert!(failure.to_string().ends_with("a.c:1: fatal error: no a.h"), "{failure}");
        assert!(Program::new("no-such-program", 60).output(&interruption).is_err());
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended_with_its_children() {
        let failure = shell("sleep 600 & wait", 1).output(&Interruption::default()).unwrap_err();
        assert!(failure.to_string().contains("ended after 1 s"), "{failure}");
    }

    #[test]
    fn a_program_that_is_not_wanted_any_more_is_ended() {
        let running = shell("sleep 600", 600).start().unwrap();
        let number = running.child.id();
        drop(running);
        assert!(!std::path::Path::new(&format!("/proc/{number}")).exists());
    }

    #[test]
    fn memory_and_processor_time_are_those_of_all_children() {
        let (_, memory) = shell("sleep 1", 60).output_and_memory(&Interruption::default()).unwrap();
        assert!(memory.is_some_and(|bytes| bytes > 100 * 1024), "{memory:?}");
        let busy = shell("while :; do :; done", 60).start().unwrap();
        while busy.processor_time() < Duration::from_millis(30) {
            sleep(LOOK);
        }
    }
}
