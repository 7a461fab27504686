//! What the fuzz targets call: decoders of bytes from other processes, which must refuse what they do not understand.

use crate::fabric::Fragment;
use crate::fabric::tcp::frame;
use crate::fabric::verbs::link::message::{MESSAGE_WORDS, MailboxMessage};
use crate::lane::large::Arrivals;
use crate::rack::control::Control;
use crate::rack::hello::{Hello, Reply};
pub use crate::stream::fuzzing::streams;
use crate::transport::purpose::Purpose;
use crate::transport::socket::Address;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::row::RowLayout;
use crate::wire::rows::Rows;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::ops::{Bound, RangeInclusive};
use std::task::Poll;
use std::time::{Duration, SystemTime};

/// Bytes as values whose lengths, tags and text have to be checked.
pub fn values(bytes: &[u8]) {
    type Nested = Vec<(Option<String>, Result<Vec<u16>, String>, VecDeque<[u8; 3]>)>;
    let _refused = Decoder::decoded::<Nested>(bytes);
    let _refused = Decoder::decoded::<HashMap<String, Vec<Option<u64>>>>(bytes);
    let _refused = Decoder::decoded::<(std::ffi::CString, Bound<u8>, Box<str>)>(bytes);
    let _refused = Decoder::decoded::<Box<dyn std::error::Error + Send + Sync>>(bytes);
    if let Ok(map) = Decoder::decoded::<BTreeMap<String, Vec<Option<u32>>>>(bytes) {
        let again = Encoder::encoded(map.clone()).map(|bytes| Decoder::decoded(&bytes));
        assert_eq!(again.ok(), Some(Ok(map)));
    }
    decode_bounded(bytes);
    decode_rows(bytes);
    decode_messages(bytes);
}

/// Bytes as values that are encoded in the words of their type, whose tags have to be checked.
fn decode_bounded(bytes: &[u8]) {
    type Bounded = (Option<bool>, Result<char, u16>, SocketAddr, Duration, RangeInclusive<u8>);
    let _refused = Decoder::decoded_first::<Bounded>(bytes);
    let _refused = Decoder::decoded_first::<(SystemTime, Poll<IpAddr>, Bound<bool>)>(bytes);
}

/// Bytes as large values whose rows travel separately: the first few give the length and the target of each.
fn decode_rows(bytes: &[u8]) {
    let Some((lengths, left)) = bytes.split_first_chunk::<4>() else { return };
    let arrived = || {
        let (arrivals, mut left) = (Arrivals::default(), left);
        for length in lengths {
            let (bytes, rest) = left.split_at(left.len().min((length / 4).into()));
            let row = RowLayout { bytes: bytes.len() as u64 + u64::from(*length == 0), align: length % 4 };
            let _refused = arrivals.arrive(0, Fragment { ticket: 0, row, bytes });
            left = rest;
        }
        arrivals.take(0, 0)
    };
    let _refused =
        arrived().map(|mut rows| Decoder::decoded_rows::<(Vec<u16>, String, Vec<Option<u8>>)>(&mut rows));
    let _refused = arrived().map(|mut rows| Decoder::decoded_rows::<(Vec<u64>, Vec<[u32; 2]>)>(&mut rows));
    let _refused = arrived().map(|mut rows| Decoder::decoded_rows::<(Rows, String)>(&mut rows));
}

/// Bytes as frames that arrive on a connection.
pub fn frames(bytes: &[u8]) {
    let words: Vec<u64> =
        bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_ne_bytes)).collect();
    let mut left = &words[..];
    while let Ok(Some((_arrival, length))) = frame::decode(left) {
        assert!(length > 0);
        left = &left[length..];
    }
    words.chunks_exact(MESSAGE_WORDS).for_each(decode_mailbox);
}

/// Bytes as requests to the sockets for inspection and metrics.
pub fn questions(bytes: &[u8]) {
    crate::metrics::fuzz_requests(bytes);
    crate::inspect::fuzz_questions(bytes);
}

/// Words as an entry of the mailbox of a queue pair.
fn decode_mailbox(words: &[u64]) {
    let entry = words.try_into().unwrap_or([0; MESSAGE_WORDS]);
    if let Ok(message) = MailboxMessage::unpack(entry) {
        assert_eq!(MailboxMessage::unpack(message.pack()), Ok(message));
    }
}

/// Bytes as any message of a node.
fn decode_messages(bytes: &[u8]) {
    let _refused = Decoder::decoded::<Control>(bytes);
    let _refused = Decoder::decoded::<Hello>(bytes);
    let _refused = Decoder::decoded::<Reply>(bytes);
    if let Some(purpose) = bytes.first_chunk().and_then(|bytes| Purpose::from_bytes(*bytes)) {
        assert_eq!(Some(&purpose.to_bytes()), bytes.first_chunk());
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _refused = text.parse::<Address>();
    }
}
