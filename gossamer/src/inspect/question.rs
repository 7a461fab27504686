//! The protocol of the socket: a question of one line, and an answer that begins with a line with its number of
//! bytes. Both ends are of one version of this library, or the answer says that they are not.

use crate::NoRef;
use crate::inspect::activity::{NodeActivity, activities};
use crate::inspect::collect::{reports, reports_with_backtraces};
use crate::inspect::report::NodeReport;
use crate::inspect::socket::{InspectionSocket, require_own_user};
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

/// How long either end waits for the other, beyond what was asked for.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it may take to read the symbols of a program.
const SYMBOLS: Duration = Duration::from_secs(30);
/// Bytes of the longest question.
const QUESTION: u64 = 256;
/// Bytes of the longest answer.
const ANSWER: u64 = 1 << 30;
/// The longest time that an activity may cover.
const LONGEST: Duration = Duration::from_secs(60);
/// The answer when too many clients are there, and how long they wait before they try again.
const BUSY: &str = "busy\n";
const AGAIN: Duration = Duration::from_millis(20);
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Takes bytes as a question, and as answers.
#[cfg(fuzzing)]
pub(crate) fn fuzz(bytes: &[u8]) {
    if let Some(InspectionQuestion::Activity(time)) =
        std::str::from_utf8(bytes).ok().and_then(InspectionQuestion::of)
    {
        assert!(time <= LONGEST);
    }
    let _refused = Decoder::decoded::<Vec<NodeReport>>(bytes);
    let _refused = Decoder::decoded::<Vec<NodeActivity>>(bytes);
}

/// Tells a client that there are too many others. Never waits.
pub(super) fn turn_away(mut stream: &UnixStream) {
    // Nothing was written yet, so there is room for a word; a client that has gone needs none.
    let _told = stream.set_nonblocking(true).and_then(|()| stream.write_all(BUSY.as_bytes()));
}

/// Answers a client of this process's socket.
///
/// # Errors
/// If the client is another user, or does not read.
pub(super) fn answer(stream: &UnixStream) -> io::Result<()> {
    require_own_user(stream)?;
    // On Linux, an accepted socket blocks even if its listener does not.
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut question = String::new();
    BufReader::new(stream).take(QUESTION).read_line(&mut question)?;
    let bytes = InspectionQuestion::of(&question).and_then(|question| match question {
        InspectionQuestion::Fibers => Encoder::encoded(reports()).ok(),
        InspectionQuestion::Backtraces => Encoder::encoded(reports_with_backtraces()).ok(),
        InspectionQuestion::Activity(time) => Encoder::encoded(activities(time)).ok(),
    });
    let mut stream = stream;
    match bytes {
        None => stream.write_all(format!("refused {VERSION}\n").as_bytes()),
        Some(bytes) => {
            stream.write_all(format!("answer {}\n", bytes.len()).as_bytes())?;
            stream.write_all(&bytes)
        }
    }
}

/// What a process reports about its runtimes.
///
/// # Errors
/// If it has ended, does not answer within some seconds, or was built with another version of this library. The text
/// says which.
pub fn ask(socket: &InspectionSocket) -> io::Result<Vec<NodeReport>> {
    decoded(&asked(|| socket.connect(), InspectionQuestion::Fibers, ANSWER)?)
}

/// Like [`ask`], with a [backtrace](NodeReport::fibers) of one fiber of each waiting group. Each of these is resumed
/// until it waits again, and the process reads its own symbols, on a thread of its own: if they are large, this takes a
/// second of processor time or more.
///
/// # Errors
/// Like [`ask`].
pub fn ask_backtraces(socket: &InspectionSocket) -> io::Result<Vec<NodeReport>> {
    decoded(&asked(|| socket.connect(), InspectionQuestion::Backtraces, ANSWER)?)
}

/// What the nodes of a process do during some time, of at most a minute.
///
/// # Errors
/// Like [`ask`].
pub fn ask_activity(socket: &InspectionSocket, time: Duration) -> io::Result<Vec<NodeActivity>> {
    decoded(&asked(|| socket.connect(), InspectionQuestion::Activity(time), ANSWER)?)
}

/// What a process can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InspectionQuestion {
    /// What its fibers do, as [`ask`] returns it.
    Fibers,
    /// The same with backtraces, as [`ask_backtraces`] returns it.
    Backtraces,
    /// What its nodes do during this time, as [`ask_activity`] returns it.
    Activity(Duration),
}

impl InspectionQuestion {
    /// The question of a line, if it is one of this version.
    fn of(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["stacks", VERSION] => Some(Self::Fibers),
            ["backtraces", VERSION] => Some(Self::Backtraces),
            ["activity", milliseconds, VERSION] => {
                let time = Duration::from_millis(milliseconds.parse().ok()?);
                Some(Self::Activity(time.min(LONGEST)))
            }
            _ => None,
        }
    }

    fn line(self) -> String {
        match self {
            Self::Fibers => format!("stacks {VERSION}\n"),
            Self::Backtraces => format!("backtraces {VERSION}\n"),
            Self::Activity(time) => format!("activity {} {VERSION}\n", time.as_millis()),
        }
    }

    /// How long the answer may take.
    fn patience(self) -> Duration {
        match self {
            Self::Fibers => PATIENCE,
            Self::Backtraces => SYMBOLS + PATIENCE,
            Self::Activity(time) => time.min(LONGEST) + PATIENCE,
        }
    }
}

pub(super) fn decoded<T: NoRef>(bytes: &[u8]) -> io::Result<T> {
    Decoder::decoded(bytes)
        .map_err(|malformed| io::Error::other(format!("its answer is not understood: {malformed}")))
}

/// The encoded answer, of at most this many bytes.
pub(super) fn asked(
    connect: impl Fn() -> io::Result<UnixStream>,
    question: InspectionQuestion,
    longest: u64,
) -> io::Result<Vec<u8>> {
    let due = Instant::now() + question.patience();
    loop {
        if let Some(answer) = asked_once(&connect()?, question, longest, due)? {
            return Ok(answer);
        }
        if Instant::now() >= due {
            return Err(io::Error::other("too many others are asking it at present: try again later"));
        }
        thread::sleep(AGAIN);
    }
}

/// The answer; `None` if there are too many other clients.
fn asked_once(
    mut stream: &UnixStream,
    question: InspectionQuestion,
    longest: u64,
    due: Instant,
) -> io::Result<Option<Vec<u8>>> {
    stream.set_write_timeout(Some(PATIENCE))?;
    // A client that is turned away may find the other end closed; the message for it is there all the same.
    let _refused = stream.write_all(question.line().as_bytes());
    let mut reader = BufReader::new(ReadUntil { stream, due });
    let mut kind = String::new();
    (&mut reader).take(QUESTION).read_line(&mut kind)?;
    let length = match kind.trim_end().split_once(' ') {
        None if kind == BUSY => return Ok(None),
        Some(("answer", length)) => length.parse::<u64>().ok(),
        Some(("refused", version)) => {
            return Err(io::Error::other(format!(
                "it was built with version {version} of gossamer, and this command is of version {VERSION}: use one of that version"
            )));
        }
        _ => None,
    };
    let length = length.ok_or_else(|| io::Error::other("its answer is not understood"))?;
    if length > longest {
        return Err(io::Error::other(format!("its answer has {length} bytes, more than {longest}")));
    }
    let mut bytes = Vec::new();
    reader.take(length).read_to_end(&mut bytes)?;
    match bytes.len() as u64 == length {
        true => Ok(Some(bytes)),
        false => Err(io::Error::other("its answer is cut")),
    }
}

/// Reads until a deadline, even if the other end sends a byte now and then.
struct ReadUntil<'a> {
    stream: &'a UnixStream,
    due: Instant,
}

impl Read for ReadUntil<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}
