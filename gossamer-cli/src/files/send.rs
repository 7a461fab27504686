//! `gossamer send`.

use crate::exit::{FAILED, Failure, LOST, OUTPUT, SIGNALLED, UNREACHABLE};
use crate::files::arguments::Send;
use crate::files::code::stream_key;
use crate::files::digest::Hasher;
use crate::files::input::Input;
use crate::files::link::{self, Link};
use crate::files::manifest::{Entry, Kind};
use crate::files::message::{Answer, Answered, BATCH, Hello, PROTOCOL, Said};
use crate::files::outgoing::{Outgoing, Trouble};
use crate::files::record::Record;
use crate::files::recv::{BLOCKS, geometry};
use crate::files::show::Show;
use crate::files::source::{SLICE, Source, hash_start, next_extent};
use crate::files::walk::{self, Listing};
use crate::key::Key;
use gossamer::stream::{self, Error, Length, Options, Route};
use std::collections::HashSet;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// How long the reason for the end of a stream may take to arrive.
const REASON: Duration = Duration::from_secs(5);

/// How often whoever waits for input looks whether the receiver is still there.
const LISTENS: Duration = Duration::from_millis(500);

/// Does what the command line says.
///
/// # Errors
/// What stands against it.
pub fn run(arguments: &Send) -> Result<u8, Failure> {
    let key = arguments.key()?;
    let listing = walk::list(&arguments.files)?;
    let mut show = arguments.style.show();
    for (path, why) in &listing.missing {
        show.fail(path, why);
    }
    let files = if listing.entries.is_empty() { Ok(0) } else { send(arguments, &key, &listing, &mut show) };
    match files {
        Ok(files) => {
            show.end("sent", files);
            Ok(if show.failures() > 0 { FAILED } else { 0 })
        }
        Err(failure) => show.failure(failure),
    }
}

fn lost(error: &dyn std::fmt::Display) -> Failure {
    let what = format!(
        "the receiver was lost ({error}); what has arrived is kept: run both commands again to go on"
    );
    Failure::new(LOST, what)
}

fn send(arguments: &Send, key: &Key, listing: &Listing, show: &mut Show) -> Result<usize, Failure> {
    let block = block(arguments.limit_rate);
    let mut link = connect(&arguments.to, key, block)?;
    let missing = u32::try_from(listing.missing.len()).unwrap_or(u32::MAX);
    let tell = |link: &mut Link| {
        for batch in listing.entries.chunks(BATCH) {
            link.send(&Said::Entries(batch.to_vec()))?;
        }
        link.send(&Said::All { missing })
    };
    // If the receiver is gone, what it has said last says why.
    let _told = tell(&mut link);
    let (answers, nonce) = answers(&mut link, listing.entries.len())?;
    let stream = open_stream(arguments, key, &nonce, block, &link)?;
    let outgoing = Outgoing::new(stream, block as usize, arguments.compress, arguments.limit_rate)
        .map_err(|error| Failure::new(FAILED, format!("cannot compress: {error}")))?;
    let news = listen(link)?;
    let sizes = listing.entries.iter().all(|entry| entry.kind != Kind::Pipe);
    show.begin(sizes.then(|| listing.entries.iter().map(Entry::bytes).sum()));
    let mut sending = Sending { news, last: None, failed: HashSet::new(), listing, show, behind: 0 };
    let sent = sending.send_all(outgoing, &answers);
    sending.conclude(sent)
}

/// The size of blocks: smaller ones where a large one would take long.
fn block(rate: Option<u64>) -> u32 {
    let wanted = rate.map_or(u32::MAX, |rate| u32::try_from(rate / 4).unwrap_or(u32::MAX));
    let wanted = wanted.clamp(*BLOCKS.start(), *BLOCKS.end());
    1 << wanted.ilog2()
}

fn connect(address: &str, key: &Key, block: u32) -> Result<Link, Failure> {
    let hello = Hello { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").into(), block };
    Link::connect(address, key, &hello).map_err(|trouble| {
        let what = match trouble {
            link::Trouble::Connect(error) => {
                format!("{error}; --to takes the host and the port at which `gossamer recv` says that it waits")
            }
            link::Trouble::Stranger(error) => format!(
                "the receiver does not take the code ({error}): look whether it is the one that it has printed, which \
                 works once"
            ),
        };
        Failure::new(UNREACHABLE, format!("cannot send to {address}: {what}"))
    })
}

/// What the receiver says to each entry, and the nonce of the stream.
fn answers(link: &mut Link, count: usize) -> Result<(Vec<Answer>, [u8; 32]), Failure> {
    let mut answers = Vec::new();
    loop {
        match link.receive().map_err(|error| lost(&error))? {
            Answered::Answers(more) if answers.len() + more.len() <= count => answers.extend(more),
            Answered::Ready { nonce } if answers.len() == count => return Ok((answers, nonce)),
            Answered::Stopped { status, why } => return Err(stopped(status, &why)),
            _ => {
                return Err(Failure::new(
                    FAILED,
                    "what the receiver says makes no sense: run one version on both sides",
                ));
            }
        }
    }
}

fn open_stream(
    arguments: &Send,
    key: &Key,
    nonce: &[u8; 32],
    block: u32,
    link: &Link,
) -> Result<stream::Sender, Failure> {
    let doing = |error: Error| Failure::new(UNREACHABLE, format!("cannot send: {error}"));
    let key = stream::Key::from_hex(&stream_key(key, nonce)).map_err(doing)?;
    let mut options = Options::from(geometry(block as usize)).key(key);
    if let Some(streams) = arguments.streams {
        options = options.route(Route::Tcp).connections(streams.into());
    }
    let address = link.peer().map_err(|error| lost(&error))?;
    stream::Sender::connect(address, Length::Open, options).map_err(doing)
}

/// What comes from the receiver while files are sent, up to its last word.
fn listen(mut link: Link) -> Result<Receiver<io::Result<Answered>>, Failure> {
    let (tell, news) = mpsc::channel();
    let listening = thread::Builder::new().spawn(move || {
        loop {
            let heard = link.receive();
            let is_last = !matches!(heard, Ok(Answered::Failed { .. }));
            if tell.send(heard).is_err() || is_last {
                return;
            }
        }
    });
    listening.map_err(|error| Failure::new(FAILED, format!("no thread can be started: {error}")))?;
    Ok(news)
}

/// The state of a transfer.
struct Sending<'a> {
    news: Receiver<io::Result<Answered>>,
    /// The receiver's last word.
    last: Option<io::Result<Answered>>,
    failed: HashSet<usize>,
    listing: &'a Listing,
    show: &'a mut Show,
    /// Bytes of the entries that are done.
    behind: u64,
}

/// Why an entry was not sent.
enum Unsent {
    /// It cannot be read, or must not be replaced there.
    Entry(String),
    /// The receiver does not want it any more, and has said why.
    Refused,
    /// The stream has ended.
    Stream(Error),
}

impl From<Error> for Unsent {
    fn from(error: Error) -> Self {
        Self::Stream(error)
    }
}

impl From<Trouble> for Unsent {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Read(error) => error.into(),
            Trouble::Stream(error) => Self::Stream(error),
        }
    }
}

impl From<io::Error> for Unsent {
    fn from(error: io::Error) -> Self {
        Self::Entry(format!("cannot be read: {error}"))
    }
}

impl Sending<'_> {
    fn send_all(&mut self, mut outgoing: Outgoing, answers: &[Answer]) -> Result<Outgoing, Error> {
        let out = &mut outgoing;
        let listing = self.listing;
        for (index, (entry, answer)) in listing.entries.iter().zip(answers).enumerate() {
            let path = listing.paths.get(index).map_or(Path::new(""), |path| path);
            let outcome = match answer {
                Answer::Done => Ok(()),
                Answer::Refused(why) => {
                    self.fail(index, &format!("the receiver: {why}"));
                    Ok(())
                }
                _ if entry.kind == Kind::Pipe => self.pipe(out, index),
                answer => self.file(out, index, entry, path, answer),
            };
            let why = match outcome {
                Ok(()) => None,
                Err(Unsent::Stream(error)) => return Err(error),
                Err(Unsent::Refused) => Some("was refused".into()),
                Err(Unsent::Entry(why)) => {
                    self.fail(index, &why);
                    Some(why)
                }
            };
            if let Some(why) = why {
                out.put(Record::Fail { entry: number(index), why: &why })?;
            }
            self.behind += entry.bytes();
            self.show.reach(self.behind);
        }
        Ok(outgoing)
    }

    fn file(
        &mut self,
        out: &mut Outgoing,
        index: usize,
        entry: &Entry,
        path: &Path,
        answer: &Answer,
    ) -> Result<(), Unsent> {
        let source = Source::open(path, entry).map_err(Unsent::Entry)?;
        let (show, behind) = (&mut *self.show, self.behind);
        let mut hasher = match answer {
            Answer::Have { bytes, digest } if *bytes <= source.bytes() => {
                let hasher = hash_start(source.file(), *bytes, |at| show.reach(behind + at))?;
                if hasher.clone().finish(*bytes) == *digest { hasher } else { Hasher::default() }
            }
            Answer::Compare { digest, replace } => {
                let hasher = hash_start(source.file(), source.bytes(), |at| show.reach(behind + at))?;
                match hasher.clone().finish(source.bytes()) == *digest {
                    true => hasher,
                    false if *replace => Hasher::default(),
                    false => {
                        let why = "exists there with other contents; `gossamer recv --overwrite` replaces it";
                        return Err(Unsent::Entry(why.into()));
                    }
                }
            }
            _ => Hasher::default(),
        };
        out.put(Record::Begin { entry: number(index), at: hasher.at() })?;
        while let Some(extent) = next_extent(source.file(), hasher.at(), source.bytes())? {
            hasher.pass_over(extent.start);
            while hasher.at() < extent.end {
                let (left, file) = (extent.end - hasher.at(), source.file());
                let read = |place: &mut [u8], at| file.read_at(place, at);
                if !self.contents(out, index, &mut hasher, left, read)? {
                    return Err(Unsent::Entry("has become shorter while it was sent; send it again".into()));
                }
            }
        }
        source.check_unchanged().map_err(Unsent::Entry)?;
        let bytes = source.bytes();
        out.put(Record::End { bytes, digest: hasher.finish(bytes) })?;
        Ok(())
    }

    fn pipe(&mut self, out: &mut Outgoing, index: usize) -> Result<(), Unsent> {
        let mut input = Input::open()?;
        let mut hasher = Hasher::default();
        out.put(Record::Begin { entry: number(index), at: 0 })?;
        loop {
            while !input.wait(LISTENS) {
                self.check(index, hasher.at())?;
            }
            if !self.contents(out, index, &mut hasher, u64::MAX, |place, _| input.read(place))? {
                break;
            }
            if input.begin_piece() {
                out.flush()?;
            }
        }
        let bytes = hasher.at();
        out.put(Record::End { bytes, digest: hasher.finish(bytes) })?;
        self.behind = bytes;
        Ok(())
    }

    /// Sends a piece of contents; false if there are none.
    fn contents(
        &mut self,
        out: &mut Outgoing,
        index: usize,
        hasher: &mut Hasher,
        most: u64,
        mut read: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
    ) -> Result<bool, Unsent> {
        self.check(index, hasher.at())?;
        let at = hasher.at();
        // Each slice is read and hashed while it is in the processor's cache.
        let (count, taken) = out.data(at, most, |place| {
            let slice = place.len().min(SLICE);
            let count = read(place.get_mut(..slice).unwrap_or_default(), hasher.at())?;
            hasher.update(hasher.at(), place.get(..count).unwrap_or_default());
            Ok(count)
        })?;
        self.show.moved(taken);
        self.show.reach(self.behind + hasher.at());
        Ok(count > 0)
    }

    /// Whether the receiver still wants an entry. Its stream says so only once a block is full, which takes long where input is slow, or
    /// much of it makes few bytes.
    fn check(&mut self, index: usize, at: u64) -> Result<(), Unsent> {
        self.hear();
        match self.last {
            Some(_) => Err(Unsent::Stream(Error::PeerLost { at })),
            None if self.failed.contains(&index) => Err(Unsent::Refused),
            None => Ok(()),
        }
    }

    /// Takes note of what the receiver could not write.
    fn hear(&mut self) {
        while self.last.is_none()
            && let Ok(heard) = self.news.try_recv()
        {
            self.take(heard);
        }
    }

    fn take(&mut self, heard: io::Result<Answered>) {
        match heard {
            Ok(Answered::Failed { entry, why }) => self.fail(entry as usize, &format!("the receiver: {why}")),
            last => self.last = Some(last),
        }
    }

    fn fail(&mut self, index: usize, why: &str) {
        let Some(entry) = self.listing.entries.get(index) else { return };
        if self.failed.insert(index) {
            self.show.fail(&entry.name(), why);
        }
    }

    /// Waits for the receiver's last word. Returns how many files it has.
    fn conclude(mut self, sent: Result<Outgoing, Error>) -> Result<usize, Failure> {
        let ended = sent.and_then(Outgoing::finish);
        let due = ended.is_err().then(|| Instant::now() + REASON);
        while self.last.is_none() {
            let heard = match due {
                // It syncs what it has, as long as that takes.
                None => self.news.recv().map_err(io::Error::other),
                Some(due) => self
                    .news
                    .recv_timeout(due.saturating_duration_since(Instant::now()))
                    .map_err(io::Error::other),
            };
            self.take(heard.flatten());
        }
        match (self.last, ended) {
            (Some(Ok(Answered::Finished)), Ok(())) => {
                let entries = self.listing.entries.iter().enumerate();
                let files = entries.filter(|(_, entry)| entry.kind != Kind::Directory);
                Ok(files.filter(|(index, _)| !self.failed.contains(index)).count())
            }
            (Some(Ok(Answered::Stopped { status, why })), _) => Err(stopped(status, &why)),
            (_, Err(error)) => Err(lost(&error)),
            (Some(Err(error)), _) => Err(lost(&error)),
            _ => Err(lost(&"its last word makes no sense")),
        }
    }
}

/// The receiver has given up.
fn stopped(status: u8, why: &str) -> Failure {
    let status = match status {
        UNREACHABLE | LOST => status,
        OUTPUT | SIGNALLED.. => OUTPUT,
        _ => FAILED,
    };
    Failure::new(status, format!("the receiver: {why}"))
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
