//! Two processes, at the two ends of a plain connection or of whatever they open: one produces, this one consumes.

use super::gigabit::Gigabit;
use super::{NUMBERS, Sink, Source};
use crate::machine;
use crate::measure::{METER, Sample, Setting, Way};
use crate::partner::Partner;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// Where the consumer listens, for the process that produces.
const ADDRESS: &str = "TABLE_STREAM";
/// A link of 1 Gbit/s takes a while to show its rate to a part in a hundred: 17 ms are a block.
pub(super) const SLOWLY: Duration = Duration::from_secs(3);

/// Starts the second process, which runs `produce`, and measures what `listen` and then `consume` take here.
pub(super) fn between<L: Send + 'static>(
    setting: &Setting,
    produce: impl FnOnce(SocketAddr),
    listen: impl FnOnce(SocketAddr) -> (L, SocketAddr),
    consume: impl FnOnce(L) + Send + 'static,
) -> Sample {
    if let Ok(address) = std::env::var(ADDRESS) {
        machine::pin(1);
        produce(address.parse().unwrap_or_else(|error| panic!("{address}: {error}")));
        // The consumer measures, and ends this process.
        loop {
            std::thread::sleep(SLOWLY);
        }
    }
    let mut setting = *setting;
    let gigabit = (setting.way == Way::Gigabit).then(Gigabit::new);
    let host = gigabit.as_ref().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), Gigabit::address);
    let (listener, address) = listen(SocketAddr::new(host, 0));
    let partner = match &gigabit {
        Some(gigabit) => gigabit.start(&[(ADDRESS, address.to_string())]),
        None => Partner::start(&[(ADDRESS, address.to_string())]),
    };
    if gigabit.is_some() {
        setting.budget = setting.budget.max(SLOWLY);
    }
    let consumer = machine::pinned(0, move || consume(listener));
    let sample = METER.watch_all(&setting, 1, &|| partner.used_by_both());
    assert!(consumer.join().is_ok(), "the consumer panicked");
    sample
}

/// Blocks written to a connection from one buffer, and read from it into another.
pub fn plain(setting: &Setting) -> Sample {
    between(setting, produce, listen, consume)
}

fn listen(at: SocketAddr) -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(at).unwrap_or_else(|error| panic!("listening: {error}"));
    let address = listener.local_addr().unwrap_or_else(|error| panic!("listening: {error}"));
    (listener, address)
}

fn produce(address: SocketAddr) {
    let mut socket = TcpStream::connect(address).unwrap_or_else(|error| panic!("connecting: {error}"));
    let (mut source, mut block) = (Source::default(), vec![0; NUMBERS]);
    loop {
        source.fill(&mut block);
        if socket.write_all(bytes(&block)).is_err() {
            return;
        }
    }
}

fn consume(listener: TcpListener) {
    let (mut socket, _) = listener.accept().unwrap_or_else(|error| panic!("accepting: {error}"));
    let (mut sink, mut block) = (Sink::default(), vec![0; NUMBERS]);
    while sink.goes_on() {
        assert!(socket.read_exact(bytes_mut(&mut block)).is_ok(), "the producer is gone");
        sink.take(&block);
    }
}

pub(super) fn bytes(block: &[u64]) -> &[u8] {
    // SAFETY: the same memory, all of it.
    unsafe { std::slice::from_raw_parts(block.as_ptr().cast(), size_of_val(block)) }
}

pub(super) fn bytes_mut(block: &mut [u64]) -> &mut [u8] {
    // SAFETY: the same memory, all of it, and any bytes are numbers.
    unsafe { std::slice::from_raw_parts_mut(block.as_mut_ptr().cast(), size_of_val(block)) }
}
