//! What is said at the socket: one line that asks, and an answer of one line, with the number of its bytes, and those. Both ends are of one
//! version of this library, or the answer says that they are not.

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
/// The longest time that is looked at.
const LONGEST: Duration = Duration::from_secs(60);
/// What those are told who come when too many are there, and how long they wait until they come again.
const BUSY: &str = "busy\n";
const AGAIN: Duration = Duration::from_millis(20);
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What may be asked.
#[derive(Debug, PartialEq, Eq)]
enum Question {
    Stacks,
    Backtraces,
    /// What is done for this long.
    Activity(Duration),
}

impl Question {
    /// The one of a line, if it is one, of this version.
    fn of(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["stacks", VERSION] => Some(Self::Stacks),
            ["backtraces", VERSION] => Some(Self::Backtraces),
            ["activity", milliseconds, VERSION] => {
                let time = Duration::from_millis(milliseconds.parse().ok()?);
                Some(Self::Activity(time.min(LONGEST)))
            }
            _ => None,
        }
    }
}

/// Bytes as a question, and as answers.
#[cfg(fuzzing)]
pub(crate) fn fuzz(bytes: &[u8]) {
    if let Some(Question::Activity(time)) = std::str::from_utf8(bytes).ok().and_then(Question::of) {
        assert!(time <= LONGEST);
    }
    let _refused = Decoder::decoded::<Vec<NodeReport>>(bytes);
    let _refused = Decoder::decoded::<Vec<NodeActivity>>(bytes);
}

/// Tells one who has come that too many others are there. Never waits.
pub(super) fn turn_away(mut stream: &UnixStream) {
    // Nothing was written yet, so there is room for a word; whoever has gone needs none.
    let _told = stream.set_nonblocking(true).and_then(|()| stream.write_all(BUSY.as_bytes()));
}

/// Answers one who has come to the socket of this process.
///
/// # Errors
/// If he is another user, or does not read.
pub(super) fn answer(stream: &UnixStream) -> io::Result<()> {
    require_own_user(stream)?;
    // What is accepted of a listener that does not block does, on Linux.
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut question = String::new();
    BufReader::new(stream).take(QUESTION).read_line(&mut question)?;
    let bytes = Question::of(&question).and_then(|question| match question {
        Question::Stacks => Encoder::encoded(reports()).ok(),
        Question::Backtraces => Encoder::encoded(reports_with_backtraces()).ok(),
        Question::Activity(time) => Encoder::encoded(activities(time)).ok(),
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

/// What a process says of its runtimes.
///
/// # Errors
/// If it has ended, does not answer within some seconds, or was built with another version of this library: the text says so.
pub fn ask(socket: &InspectionSocket) -> io::Result<Vec<NodeReport>> {
    asked(socket, "stacks", Duration::ZERO)
}

/// As [`ask`], with a [backtrace](NodeReport::fibers) of one of each group of fibers that wait. Each of these is let go on until it waits
/// again, and the process reads its own symbols: a second of a processor or more, on a thread of its own, if they are large.
///
/// # Errors
/// As [`ask`].
pub fn ask_backtraces(socket: &InspectionSocket) -> io::Result<Vec<NodeReport>> {
    asked(socket, "backtraces", SYMBOLS)
}

/// What the nodes of a process do for some time, of at most a minute.
///
/// # Errors
/// As [`ask`].
pub fn ask_activity(socket: &InspectionSocket, time: Duration) -> io::Result<Vec<NodeActivity>> {
    asked(socket, &format!("activity {}", time.as_millis()), time.min(LONGEST))
}

fn asked<T: NoRef>(socket: &InspectionSocket, question: &str, time: Duration) -> io::Result<T> {
    let due = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = asked_once(socket, question, time)? {
            return Ok(answer);
        }
        if Instant::now() >= due {
            return Err(io::Error::other("too many others ask it at present"));
        }
        thread::sleep(AGAIN);
    }
}

/// The answer; none if too many others are there.
fn asked_once<T: NoRef>(socket: &InspectionSocket, question: &str, time: Duration) -> io::Result<Option<T>> {
    let stream = socket.connect()?;
    stream.set_read_timeout(Some(time + PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // One that is turned away may find the other end closed; what it was told is there all the same.
    let _refused = (&stream).write_all(format!("{question} {VERSION}\n").as_bytes());
    let mut reader = BufReader::new(stream);
    let mut kind = String::new();
    (&mut reader).take(QUESTION).read_line(&mut kind)?;
    let length = match kind.trim_end().split_once(' ') {
        None if kind == BUSY => return Ok(None),
        Some(("answer", length)) => length.parse::<u64>().ok().filter(|length| *length <= ANSWER),
        Some(("refused", version)) => {
            return Err(io::Error::other(format!(
                "it was built with version {version} of gossamer, and this command is of version {VERSION}: use one of that version"
            )));
        }
        _ => None,
    };
    let length = length.ok_or_else(|| io::Error::other("its answer is not understood"))?;
    let mut bytes = Vec::new();
    reader.take(length).read_to_end(&mut bytes)?;
    let decoded = Decoder::decoded(&bytes);
    decoded.map(Some).map_err(|malformed| io::Error::other(format!("its answer is cut: {malformed}")))
}
