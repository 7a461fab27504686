//! [`channel`]: a stream between two workers of an application, whichever nodes they are on.
//!
//! Each end, when it is opened, listens at its own node and offers its address to the other. The second to come finds the address of
//! the first, and goes there. So neither waits for the other to be opened first, and the ends of one machine find each other's memory
//! as those of two programs do.

use crate::NoRef;
use crate::stream::error::End;
use crate::stream::limits::check;
use crate::stream::options::Key;
use crate::stream::{Error, Length, Options, Receiver, Sender};
use crate::transport::handshake::Token;
use crate::trust::{Trust, Trustee, spawn_on_with};
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::Malformed;
use crate::worker;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::time::Duration;

/// After so long a wait for the other end is reported.
const LONG: Duration = Duration::from_secs(10);

/// The address of the end that was opened first.
type Meeting = Option<String>;

/// How both ends find each other.
#[derive(NoRef)]
struct Rendezvous {
    at: Trustee,
    meeting: Trust<Meeting>,
    length: Length,
    options: Options,
}

/// A stream from one worker to another: its two ends, each of which is captured, sent or stored until it is opened on the node of
/// its worker.
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
/// The key is made for this stream and goes with its ends. An end that is dropped before it was opened aborts the stream: the other
/// one hears of it when it is opened and used.
///
/// # Errors
/// If the geometry cannot be.
///
/// # Panics
/// Where the caller cannot wait, and if the runtime has ended.
pub fn channel(
    from: Trustee,
    to: Trustee,
    length: impl Into<Length>,
    options: impl Into<Options>,
) -> Result<(SendEnd, ReceiveEnd), Error> {
    let (length, options) = (length.into(), options.into());
    check(length, &options)?;
    let key = Token::random().map_err(Error::io("making a key"))?;
    let options = options.key(Key(key));
    let meeting = to.entrust(Meeting::None);
    let rendezvous = |at| Rendezvous { at, meeting: meeting.clone(), length, options: options.clone() };
    Ok((SendEnd(Unopened::new(rendezvous(from))), ReceiveEnd(Unopened::new(rendezvous(to)))))
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
    /// Where it can be opened: on the node of this worker.
    pub fn trustee(&self) -> Trustee {
        self.0.at()
    }

    /// Opens it, and waits until the other end is opened, too, by another fiber: as long as [`Options::patience`] says, or else for
    /// however long that takes. A wait of ten seconds is reported, with the line that waits.
    ///
    /// # Errors
    /// If this is not its node, or the other end is gone, or does not come.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub fn open(self) -> Result<Sender, Error> {
        self.0.open(Location::caller())
    }
}

impl ReceiveEnd {
    /// Where it can be opened: on the node of this worker.
    pub fn trustee(&self) -> Trustee {
        self.0.at()
    }

    /// Opens it, and waits until the other end is opened, too, by another fiber: as long as [`Options::patience`] says, or else for
    /// however long that takes. A wait of ten seconds is reported, with the line that waits.
    ///
    /// # Errors
    /// If this is not its node, or the other end is gone, or does not come.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub fn open(self) -> Result<Receiver, Error> {
        self.0.open(Location::caller())
    }
}

/// What an end becomes.
trait Opened: Sized + 'static {
    /// `place` opens it, unless it was dropped.
    fn open(rendezvous: &Rendezvous, place: Option<&Location<'_>>) -> Result<Self, Error>;
}

/// Waits for the end that comes second.
fn come<E>(
    end: End,
    patience: Option<Duration>,
    place: Option<&Location<'_>>,
    accept: impl Fn(Option<Duration>) -> Result<E, Error>,
) -> Result<E, Error> {
    let Some(place) = place.filter(|_| patience.is_none_or(|patience| patience > LONG)) else {
        return accept(patience);
    };
    match accept(Some(LONG)) {
        Err(Error::Timeout { .. }) => {
            let (other, long) = (end.other(), LONG.as_secs());
            eprintln!(
                "gossamer: at {place} the {end} of a channel has waited {long} s for the {other} to be opened, which takes another \
                 fiber; it goes on waiting"
            );
            accept(patience.map(|patience| patience - LONG))
        }
        outcome => outcome,
    }
}

impl Opened for Sender {
    fn open(
        Rendezvous { at, meeting, length, options }: &Rendezvous,
        place: Option<&Location<'_>>,
    ) -> Result<Self, Error> {
        let host = host_of(*at)?;
        let listener = Self::bind((host.as_str(), 0), *length, options.clone())?;
        match offer(meeting, &host, listener.local_addr()?.port())? {
            Some(theirs) => {
                give_back(meeting, theirs.clone(), Self::connect(theirs, *length, options.clone()))
            }
            None => come(End::Sender, options.patience, place, |patience| listener.accept_within(patience)),
        }
    }
}

impl Opened for Receiver {
    fn open(
        Rendezvous { at, meeting, options, .. }: &Rendezvous,
        place: Option<&Location<'_>>,
    ) -> Result<Self, Error> {
        let host = host_of(*at)?;
        let listener = Self::bind((host.as_str(), 0), options.clone())?;
        match offer(meeting, &host, listener.local_addr()?.port())? {
            Some(theirs) => give_back(meeting, theirs.clone(), Self::connect(theirs, options.clone())),
            None => come(End::Receiver, options.patience, place, |patience| listener.accept_within(patience)),
        }
    }
}

/// The host at which other nodes reach this one, which is that of a worker.
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

/// Offers an address to the other end, or takes that which it has offered.
fn offer(meeting: &Trust<Meeting>, host: &str, port: u16) -> Result<Option<String>, Error> {
    let offered = meeting.try_apply_with(exchange, format!("{host}:{port}"));
    offered.map_err(|error| Error::Refused(format!("the other end cannot be found: {error}")))
}

fn exchange(meeting: &mut Meeting, ours: String) -> Option<String> {
    match meeting.take() {
        Some(theirs) => Some(theirs),
        None => {
            *meeting = Some(ours);
            None
        }
    }
}

/// If the other end was not reached, its address goes back: whoever drops this end can still tell it.
fn give_back<E>(meeting: &Trust<Meeting>, theirs: String, reached: Result<E, Error>) -> Result<E, Error> {
    reached.inspect_err(|_| {
        // If that fails, too, the application ends.
        let _gone = meeting.try_apply_with(put_back, theirs);
    })
}

fn put_back(meeting: &mut Meeting, theirs: String) {
    *meeting = Some(theirs);
}

/// An end that was not opened yet. Dropped, it is opened and dropped at its worker, so that the other end hears of it.
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

    /// If that fails, the end is dropped.
    fn open(mut self, place: &Location<'_>) -> Result<E, Error> {
        let opened = E::open(self.rendezvous(), Some(place))?;
        self.0 = None;
        Ok(opened)
    }
}

impl<E: Opened> Drop for Unopened<E> {
    fn drop(&mut self) {
        if let Some(rendezvous) = self.0.take() {
            // If the runtime ends the other end does, too.
            drop(spawn_on_with(
                rendezvous.at,
                const { |rendezvous: Rendezvous| drop(E::open(&rendezvous, None)) },
                rendezvous,
            ));
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
