//! [`ToSocketAddrs`]: what `bind`, `connect` and `send_to` take as an address.

use crate::blocking::{hand_over, unblock_as};
use crate::net::unwinding::refuse_while_unwinding;
use lookup::{Lookup, Resolvable};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// An address, or a name that stands for several: like `std::net::ToSocketAddrs`, for the same types.
///
/// The pool for blocking work looks up names ([`unblock`](crate::unblock)), since the system's resolver blocks and
/// needs more stack than a fiber has. There is no lookup for `"127.0.0.1:80"`, `("::1", 80)` and the like.
pub trait ToSocketAddrs: lookup::Resolvable {}

impl<A: lookup::Resolvable + ?Sized> ToSocketAddrs for A {}

/// Addresses as they were written; private, so that the trait can grow.
pub(crate) mod lookup {
    use super::{SocketAddr, io};

    /// What an address resolves to.
    pub enum Lookup {
        Addresses(Vec<SocketAddr>),
        Name(String, u16),
    }

    /// Something that can be resolved.
    pub trait Resolvable {
        /// # Errors
        /// If it is malformed.
        fn lookup(&self) -> io::Result<Lookup>;
    }
}

/// The addresses that `address` stands for; empty only if an empty list was given. The caller may wait.
///
/// # Errors
/// If it is malformed, or cannot be looked up.
#[track_caller]
pub(crate) fn resolve(address: impl ToSocketAddrs, call: &'static str) -> io::Result<Vec<SocketAddr>> {
    let (name, port) = match address.lookup()? {
        Lookup::Addresses(addresses) => return Ok(addresses),
        Lookup::Name(name, port) => (name, port),
    };
    refuse_while_unwinding(call)?;
    unblock_as(call, move || look_up(&name, port))?
}

/// Like `resolve`, as a future for any executor.
///
/// # Errors
/// If it is malformed, or cannot be looked up.
pub(crate) async fn resolve_async(address: impl ToSocketAddrs) -> io::Result<Vec<SocketAddr>> {
    match address.lookup()? {
        Lookup::Addresses(addresses) => Ok(addresses),
        Lookup::Name(name, port) => hand_over(move || look_up(&name, port))?.await,
    }
}

fn look_up(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let found = std::net::ToSocketAddrs::to_socket_addrs(&(name, port));
    let describe = |error: io::Error| io::Error::new(error.kind(), format!("looking up {name:?}: {error}"));
    Ok(found.map_err(describe)?.collect())
}

pub(crate) fn no_address() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "an empty list of addresses")
}

/// Tries one address after the other, and returns the first success or the last error.
///
/// # Errors
/// The last of `attempt`; `InvalidInput` if there is no address.
pub(crate) fn first_of<R>(
    addresses: &[SocketAddr],
    attempt: impl Fn(SocketAddr) -> io::Result<R>,
) -> io::Result<R> {
    let none = Err(no_address());
    addresses.iter().fold(none, |outcome, &address| outcome.or_else(|_| attempt(address)))
}

impl Resolvable for SocketAddr {
    fn lookup(&self) -> io::Result<Lookup> {
        Ok(Lookup::Addresses(vec![*self]))
    }
}

/// Implements `Resolvable` for types that convert into a `SocketAddr`.
macro_rules! plain_addresses {
    ($($kind:ty),+) => {
        $(impl Resolvable for $kind {
            fn lookup(&self) -> io::Result<Lookup> {
                Ok(Lookup::Addresses(vec![(*self).into()]))
            }
        })+
    };
}

plain_addresses! { SocketAddrV4, SocketAddrV6, (IpAddr, u16), (Ipv4Addr, u16), (Ipv6Addr, u16) }

impl Resolvable for [SocketAddr] {
    fn lookup(&self) -> io::Result<Lookup> {
        Ok(Lookup::Addresses(self.to_vec()))
    }
}

impl Resolvable for (&str, u16) {
    fn lookup(&self) -> io::Result<Lookup> {
        match self.0.parse::<IpAddr>() {
            Ok(address) => (address, self.1).lookup(),
            Err(_name) => Ok(Lookup::Name(self.0.to_owned(), self.1)),
        }
    }
}

impl Resolvable for (String, u16) {
    fn lookup(&self) -> io::Result<Lookup> {
        (self.0.as_str(), self.1).lookup()
    }
}

impl Resolvable for str {
    fn lookup(&self) -> io::Result<Lookup> {
        if let Ok(address) = self.parse::<SocketAddr>() {
            return address.lookup();
        }
        let malformed =
            || io::Error::new(io::ErrorKind::InvalidInput, format!("{self:?} is not `host:port`"));
        let (host, port) = self.rsplit_once(':').ok_or_else(malformed)?;
        (host, port.parse().map_err(|_| malformed())?).lookup()
    }
}

impl Resolvable for String {
    fn lookup(&self) -> io::Result<Lookup> {
        self.as_str().lookup()
    }
}

impl<A: Resolvable + ?Sized> Resolvable for &A {
    fn lookup(&self) -> io::Result<Lookup> {
        (**self).lookup()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(address: impl ToSocketAddrs) -> String {
        match address.lookup() {
            Ok(Lookup::Addresses(addresses)) => format!("{addresses:?}"),
            Ok(Lookup::Name(name, port)) => format!("{name} {port}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn addresses_are_taken_in_the_forms_std_takes_and_only_names_are_looked_up() {
        assert_eq!(text("127.0.0.1:80"), "[127.0.0.1:80]");
        assert_eq!(text("[::1]:80"), "[[::1]:80]");
        assert_eq!(text(("::1", 80)), "[[::1]:80]");
        assert_eq!(text(String::from("example.org:80")), "example.org 80");
        assert_eq!(text(("example.org", 80)), "example.org 80");
        assert_eq!(text((Ipv4Addr::LOCALHOST, 80)), "[127.0.0.1:80]");
        assert_eq!(text("example.org"), "\"example.org\" is not `host:port`");
        assert_eq!(text("example.org:http"), "\"example.org:http\" is not `host:port`");
    }

    #[test]
    fn the_last_error_is_told_when_no_address_works() {
        let addresses = [SocketAddr::from(([127, 0, 0, 1], 1)), SocketAddr::from(([127, 0, 0, 1], 2))];
        let outcome = first_of(&addresses, |address| match address.port() {
            2 => Ok(address),
            _ => Err(io::Error::other("one")),
        });
        assert_eq!(outcome.ok(), Some(addresses[1]));
        let error =
            first_of(&addresses, |address| Err::<(), _>(io::Error::other(address.port().to_string())));
        assert_eq!(error.map_err(|error| error.to_string()), Err("2".to_owned()));
        assert!(first_of(&[], Ok).is_err());
    }
}
