//! Where a receiver waits for the one sender that knows its code.

use crate::exit::{Failure, UNREACHABLE, USAGE};
use crate::files::link::Link;
use crate::files::message::Hello;
use crate::key::Key;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// So many wrong codes, and the receiver gives up.
const MOST_WRONG: usize = 10;
/// So many newcomers may be about to prove that they know the code.
const MOST_NEWCOMERS: usize = 16;

/// A door.
#[derive(Debug)]
pub struct Door {
    listener: Arc<TcpListener>,
    address: SocketAddr,
}

/// Somebody has come.
enum Knock {
    Friend(Link, Hello),
    /// With another code.
    Wrong(SocketAddr),
    /// Nobody can come any more.
    Broken(io::Error),
}

impl Door {
    /// Listens.
    ///
    /// # Errors
    /// If the address is taken, or not of this machine.
    pub fn open(address: &str) -> Result<Self, Failure> {
        let wrong = |error: io::Error| {
            let advice = match error.kind() {
                ErrorKind::AddrInUse => "; something listens there already, port 0 chooses a free one",
                ErrorKind::AddrNotAvailable => "; --listen takes an address of this machine",
                ErrorKind::InvalidInput => "; --listen takes a host and a port, such as 0.0.0.0:7412",
                _ => "",
            };
            Failure::new(USAGE, format!("cannot listen at {address}: {error}{advice}"))
        };
        let listener = TcpListener::bind(address).map_err(wrong)?;
        let address = listener.local_addr().map_err(wrong)?;
        Ok(Self { listener: Arc::new(listener), address })
    }

    /// Where it listens, with the port that the kernel has chosen.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits for who knows the key, and listens no more. `turned_away` hears of each wrong code, and how many more may come.
    ///
    /// # Errors
    /// After too many wrong codes.
    pub fn wait(
        self,
        key: &Key,
        mut turned_away: impl FnMut(SocketAddr, usize),
    ) -> Result<(Link, Hello), Failure> {
        let (knock, knocks) = channel();
        let (listener, key) = (Arc::clone(&self.listener), Arc::new(key.clone()));
        let doing = |error| Failure::new(UNREACHABLE, format!("cannot wait for a sender: {error}"));
        let waiting = thread::Builder::new().spawn(move || admit(&listener, &key, &knock)).map_err(doing)?;
        let mut left = MOST_WRONG;
        let outcome = loop {
            match knocks.recv() {
                Ok(Knock::Friend(link, hello)) => break Ok((link, hello)),
                Ok(Knock::Wrong(from)) => {
                    left -= 1;
                    turned_away(from, left);
                    if left == 0 {
                        let what = format!(
                            "gave up after {MOST_WRONG} senders with a wrong code; start again with a new one"
                        );
                        break Err(Failure::new(UNREACHABLE, what));
                    }
                }
                Ok(Knock::Broken(error)) => break Err(doing(error)),
                Err(_) => break Err(doing(io::Error::other("nobody listens any more"))),
            }
        };
        // The port is needed again: for the stream.
        let _ended = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        let _ended = waiting.join();
        outcome
    }
}

fn admit(listener: &TcpListener, key: &Arc<Key>, knock: &Sender<Knock>) {
    loop {
        match listener.accept() {
            // One count is this thread's. Whoever comes while too many are there is turned away without a word.
            Ok(newcomer) if Arc::strong_count(key) <= MOST_NEWCOMERS => {
                let (key, knock) = (Arc::clone(key), knock.clone());
                // Without a thread the newcomer is turned away, too.
                let _thread = thread::Builder::new().spawn(move || examine(newcomer, &key, &knock));
            }
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
            Err(error) => {
                // Nobody hears it if the door was closed.
                let _heard = knock.send(Knock::Broken(error));
                return;
            }
        }
    }
}

fn examine((socket, from): (TcpStream, SocketAddr), key: &Key, knock: &Sender<Knock>) {
    let seen = match Link::accept(socket, key) {
        Ok((link, hello)) => Knock::Friend(link, hello),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Knock::Wrong(from),
        // No sender, or one that has gone again.
        Err(_) => return,
    };
    let _heard = knock.send(seen);
}
