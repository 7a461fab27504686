//! [`channel`]: a stream between two workers of an application, whichever nodes they are on.
//!
//! Each end, when it is opened, listens at its own node and offers its address to the other. The second one finds the
//! address of the first, and connects there ([`meeting`](super::meeting)). So it does not matter which end is opened
//! first, and ends on one machine find each other's memory like those of two programs.

use crate::NoRef;
use crate::stream::connect::meeting::{Comer, Meeting};
use crate::stream::error::End;
use crate::stream::limits::check;
use crate::stream::options::Key;
use crate::stream::{Error, Length, Options, Receiver, Sender};
use crate::transport::handshake::Token;
use crate::transport::silence::{LOOK, Silence};
use crate::trust::{Trust, Trustee, spawn_on_with};
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::Malformed;
use crate::worker;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::time::{Duration, Instant};

/// How long an end waits for the other one before it reports that.
const LONG: Duration = Duration::from_secs(10);
/// When, and then how often, a waiting end checks whether the other one failed to open.
const FIRST_LOOK: Duration = Duration::from_millis(20);

/// How the ends find each other.
#[derive(NoRef)]
struct Rendezvous {
    at: Trustee,
    meeting: Trust<Meeting>,
    length: Length,
    options: Options,
}

/// A stream from one worker to another: its two ends, each of which can be captured, sent or stored until it is
/// opened on the node of its worker.
///
/// ```
/// use gossamer::stream::{self, Geometry, ReceiveEnd, SendEnd};
/// use gossamer::{Trustee, rack, spawn_on_with};
///
/// #[gossamer::delegate]
/// fn add_up() -> u64 {
///     let [from, to] = [0, 1].map(|worker| Trustee::all()[worker]);
///     let (send, receive) = stream::channel(from, to, 8 * 1000, Geometry::default()).unwrap();
///     let sending = spawn_on_with(from, |send: SendEnd| {
///         let mut sender = send.open().unwrap();
///         (0..1000_u64).for_each(|number| sender.write_everything(&number.to_ne_bytes()).unwrap());
///         sender.finish().unwrap();
///     }, send);
///     let receiving = spawn_on_with(to, |receive: ReceiveEnd| {
///         let mut receiver = receive.open().unwrap();
///         let mut sum = 0_u64;
///         receiver.for_each_slice(|numbers: &[u64]| sum += numbers.iter().sum::<u64>()).unwrap();
///         receiver.finish().unwrap();
///         sum
///     }, receive);
///     sending.join();
///     receiving.join()
/// }
/// assert_eq!(rack::run_in_process(2, gossamer::Config::default().threads(1), add_up), 499_500);
/// ```
///
/// It has the protection of the rack ([`Config::protection`](crate::Config::protection)), unless its options ask for
/// more.
///
/// The key is made for this stream and travels with its ends. An end that is dropped before it was opened, or whose
/// fiber is cancelled while it opens it, [cannot be opened](Error::NotOpened), which the other end is told.
///
/// # Errors
/// If the geometry is not possible.
///
/// # Panics
/// Where the caller cannot wait, and if the runtime has ended.
#[track_caller]
pub fn channel(
    from: Trustee,
    to: Trustee,
    length: impl Into<Length>,
    options: impl Into<Options>,
) -> Result<(SendEnd, ReceiveEnd), Error> {
    worker::require_fiber("stream::channel");
    let (length, options) = (length.into(), options.into());
    check(length, &options)?;
    let key = Token::random().map_err(Error::io("making a key"))?;
    let options = protected(options.key(Key(key)));
    let meeting = to.entrust(Meeting::Empty);
    let rendezvous = |at| Rendezvous { at, meeting: meeting.clone(), length, options: options.clone() };
    Ok((SendEnd(Unopened::new(rendezvous(from))), ReceiveEnd(Unopened::new(rendezvous(to)))))
}

/// Protected at least like everything else between the nodes of this rack.
fn protected(options: Options) -> Options {
    let rack = worker::with(|worker| worker.map(|here| here.shared.config.protection));
    let stronger = rack.filter(|rack| rack.to_byte() > options.protection.to_byte());
    stronger.into_iter().fold(options, Options::protection)
}

/// The sending end of a [`channel`], until it is opened.
#[derive(NoRef)]
#[must_use = "an end that is dropped before it was opened aborts the stream"]
pub struct SendEnd(Unopened<Sender>);

/// The receiving end of a [`channel`], until it is opened.
#[derive(NoRef)]
#[must_use = "an end that is dropped before it was opened aborts the stream"]
pub struct ReceiveEnd(Unopened<Receiver>);

impl SendEnd {
    /// The worker on whose node it can be opened.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Trustee, stream::{self, Geometry}};
    /// let all = Trustee::all();
    /// let (send, receive) = stream::channel(all[1], all[0], 5, Geometry::default()).unwrap();
    /// let sending = gossamer::spawn_on_with(
    ///     send.trustee(), // where it is to be opened
    ///     |send: stream::SendEnd| {
    ///         let mut sender = send.open().unwrap();
    ///         sender.write_everything(b"hello").unwrap();
    ///         sender.finish().unwrap();
    ///     },
    ///     send,
    /// );
    /// receive.open().unwrap().finish().unwrap();
    /// sending.join();
    /// # });
    /// ```
    pub fn trustee(&self) -> Trustee {
        self.0.at()
    }

    /// Opens it, and waits until another fiber opens the other end: for the time of [`Options::patience`], or else for
    /// as long as it takes. A wait of ten seconds is reported, with its source line.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Trustee, stream::{self, Geometry, SendEnd}};
    /// let here = Trustee::here();
    /// let (send, receive) = stream::channel(here, here, 5, Geometry::default()).unwrap();
    /// let greet = |send: SendEnd| {
    ///     let mut sender = send.open().unwrap(); // meets the other end
    ///     sender.write_everything(b"hello").unwrap();
    ///     sender.finish().unwrap();
    /// };
    /// let greeting = gossamer::spawn_on_with(here, greet, send);
    /// assert_eq!(std::io::read_to_string(receive.open().unwrap()).unwrap(), "hello");
    /// greeting.join();
    /// # });
    /// ```
    ///
    /// # Errors
    /// If this is not its node, or the other end is gone, is not opened in time, or [cannot be opened](Error::NotOpened).
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub fn open(self) -> Result<Sender, Error> {
        worker::require_fiber("SendEnd::open");
        self.0.open(Location::caller())
    }
}

impl ReceiveEnd {
    /// The worker on whose node it can be opened.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Trustee, stream::{self, Geometry}};
    /// let all = Trustee::all();
    /// let (send, receive) = stream::channel(all[0], all[1], 5, Geometry::default()).unwrap();
    /// let receiving = gossamer::spawn_on_with(
    ///     receive.trustee(), // where it is to be opened
    ///     |receive: stream::ReceiveEnd| receive.open().unwrap().finish().unwrap(),
    ///     receive,
    /// );
    /// let mut sender = send.open().unwrap();
    /// sender.write_everything(b"hello").unwrap();
    /// sender.finish().unwrap();
    /// receiving.join();
    /// # });
    /// ```
    pub fn trustee(&self) -> Trustee {
        self.0.at()
    }

    /// Opens it, and waits until another fiber opens the other end: for the time of [`Options::patience`], or else for
    /// as long as it takes. A wait of ten seconds is reported, with its source line.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Trustee, stream::{self, Geometry, ReceiveEnd}};
    /// use std::io::Read;
    /// let (from, to) = (Trustee::all()[0], Trustee::all()[1]);
    /// let (send, receive) = stream::channel(from, to, 5, Geometry::default()).unwrap();
    /// let read = |receive: ReceiveEnd| {
    ///     let mut text = String::new();
    ///     receive.open().unwrap().read_to_string(&mut text).unwrap(); // meets the other end, and reads
    ///     text
    /// };
    /// let reading = gossamer::spawn_on_with(to, read, receive);
    /// let mut sender = send.open().unwrap();
    /// sender.write_everything(b"hello").unwrap();
    /// sender.finish().unwrap();
    /// assert_eq!(reading.join(), "hello");
    /// # });
    /// ```
    ///
    /// # Errors
    /// If this is not its node, or the other end is gone, is not opened in time, or [cannot be opened](Error::NotOpened).
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub fn open(self) -> Result<Receiver, Error> {
        worker::require_fiber("ReceiveEnd::open");
        self.0.open(Location::caller())
    }
}

/// What an end becomes when it is opened.
trait Opened: Sized + 'static {
    const END: End;

    /// Listens, and then meets the other end: waits for it, or connects if that one is already waiting.
    fn meet(rendezvous: &Rendezvous, host: &str, comer: &Comer<'_>) -> Result<Self, Error>;
}

/// Opens an end. If that fails, the other end is told.
fn open<E: Opened>(rendezvous: &Rendezvous, host: &str, place: &Location<'_>) -> Result<E, Error> {
    let Rendezvous { at, meeting, .. } = rendezvous;
    let comer = Comer { meeting, end: E::END, here: format!("{place}, worker {}", at.index()) };
    let coming = comer.coming();
    let opened = E::meet(rendezvous, host, &comer).map_err(|error| comer.fail(error));
    coming.came();
    opened
}

/// Waits for the second end, and checks now and then whether it failed to open.
fn come<E>(
    comer: &Comer<'_>,
    patience: Option<Duration>,
    accept: impl Fn(Option<Duration>) -> Result<E, Error>,
) -> Result<E, Error> {
    let (mut look, mut is_reported) = (FIRST_LOOK, false);
    let mut wait = Silence::new(Instant::now());
    loop {
        let waited = wait.lasted(Instant::now());
        if waited >= LONG && !is_reported {
            is_reported = true;
            let (Comer { end, here, .. }, other, long) = (comer, comer.end.other(), LONG.as_secs());
            eprintln!(
                "gossamer: at {here} the {end} of a channel has waited {long} s for the {other} to be opened, which takes another \
                 fiber; it goes on waiting"
            );
        }
        let left = patience.map(|patience| patience.saturating_sub(waited));
        match accept(Some(left.map_or(look, |left| left.min(look)))) {
            Err(Error::Timeout { .. }) if left.is_none_or(|left| left > look) => comer.check()?,
            outcome => return outcome,
        }
        look = (2 * look).min(LOOK);
    }
}

impl Opened for Sender {
    const END: End = End::Sender;

    fn meet(rendezvous: &Rendezvous, host: &str, comer: &Comer<'_>) -> Result<Self, Error> {
        let Rendezvous { length, options, .. } = rendezvous;
        let listener = Self::bind((host, 0), *length, options.clone())?;
        comer.meet(&format!("{host}:{}", listener.local_addr()?.port()), |theirs| match theirs {
            Some(theirs) => Self::connect(theirs, *length, options.clone()),
            None => come(comer, options.patience, |patience| listener.accept_within(patience)),
        })
    }
}

impl Opened for Receiver {
    const END: End = End::Receiver;

    fn meet(rendezvous: &Rendezvous, host: &str, comer: &Comer<'_>) -> Result<Self, Error> {
        let options = &rendezvous.options;
        let listener = Self::bind((host, 0), options.clone())?;
        comer.meet(&format!("{host}:{}", listener.local_addr()?.port()), |theirs| match theirs {
            Some(theirs) => Self::connect(theirs, options.clone()),
            None => come(comer, options.patience, |patience| listener.accept_within(patience)),
        })
    }
}

/// The host at which other nodes reach this one, which must be the node of the worker.
fn host_of(at: Trustee) -> Result<String, Error> {
    worker::with(|worker| {
        let here = worker.ok_or_else(|| Error::Refused("an end of a channel is opened by a fiber".into()))?;
        if here.index_of(at.number()).is_some_and(|index| here.is_neighbour(index)) {
            return Ok(here.shared.peers.as_ref().map_or("127.0.0.1", |peers| peers.host()).to_owned());
        }
        Err(Error::Refused(format!(
            "this end of a channel was made for worker {}, which is of another node than worker {}: open it there",
            at.index(),
            here.index
        )))
    })
}

/// An end that was not opened yet. If it is dropped, its worker tells the other end.
struct Unopened<E: Opened>(Option<Rendezvous>, PhantomData<fn() -> E>);

impl<E: Opened> Unopened<E> {
    fn new(rendezvous: Rendezvous) -> Self {
        Self(Some(rendezvous), PhantomData)
    }

    fn rendezvous(&self) -> &Rendezvous {
        match &self.0 {
            Some(rendezvous) => rendezvous,
            None => unreachable!("it is taken by what consumes it"),
        }
    }

    fn at(&self) -> Trustee {
        self.rendezvous().at
    }

    /// If that fails because this is another node, the end is dropped; otherwise the other end is told.
    fn open(mut self, place: &Location<'_>) -> Result<E, Error> {
        let host = host_of(self.at())?;
        match self.0.take() {
            Some(rendezvous) => open(&rendezvous, &host, place),
            None => unreachable!("it is taken by what consumes it"),
        }
    }
}

impl<E: Opened> Drop for Unopened<E> {
    fn drop(&mut self) {
        if let Some(rendezvous) = self.0.take() {
            // If the runtime ends, so does the other end.
            let tell = const {
                |Rendezvous { at, meeting, .. }: Rendezvous| {
                    let here = format!("worker {}", at.index());
                    Comer { meeting: &meeting, end: E::END, here }.give_up("it was dropped before");
                }
            };
            drop(spawn_on_with(rendezvous.at, tell, rendezvous));
        }
    }
}

// SAFETY: it consists of its rendezvous, which travels.
#[expect(unsafe_code, reason = "`NoRef` is an unsafe trait; no memory is touched here")]
unsafe impl<E: Opened> NoRef for Unopened<E> {
    fn encode(mut self, to: &mut Encoder) {
        if let Some(rendezvous) = self.0.take() {
            rendezvous.encode(to);
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Rendezvous::decode(from).map(Self::new)
    }
}

impl fmt::Debug for SendEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendEnd").field("at", &self.trustee()).finish_non_exhaustive()
    }
}

impl fmt::Debug for ReceiveEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceiveEnd").field("at", &self.trustee()).finish_non_exhaustive()
    }
}
