//! What clients of `hydra` send, and what its snapshots have: nothing makes a shard panic, all replies are well formed,
//! and a snapshot has what was there when it was begun, whatever is changed until it is complete.
#![no_main]
#![allow(dead_code, unused_imports, reason = "the rest of the program")]

#[path = "../../examples/hydra/src/clients.rs"]
mod clients;
#[path = "../../examples/hydra/src/commands/mod.rs"]
mod commands;
#[path = "../../examples/hydra/src/connection/mod.rs"]
mod connection;
#[path = "../../examples/hydra/src/ending.rs"]
mod ending;
#[path = "../../examples/hydra/src/open_files.rs"]
mod open_files;
#[path = "../../examples/hydra/src/options.rs"]
mod options;
#[path = "../../examples/hydra/src/protocol/mod.rs"]
mod protocol;
#[path = "../../examples/hydra/src/report.rs"]
mod report;
#[path = "../../examples/hydra/src/server.rs"]
mod server;
#[path = "../../examples/hydra/src/settings.rs"]
mod settings;
#[path = "../../examples/hydra/src/snapshot.rs"]
mod snapshot;
#[path = "../../examples/hydra/src/snapshot_file.rs"]
mod snapshot_file;
#[path = "../../examples/hydra/src/store/mod.rs"]
mod store;

use commands::names::command;
use commands::table::Handler;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use protocol::number;
use protocol::parser::{Limits, Parsed, Parser};
use protocol::reply::Replies;
use std::sync::LazyLock;
use store::Shard;
use store::operation::Operation;
use store::snapshot::{VERSION, chunk, entries};

#[derive(Arbitrary, Debug)]
struct Input {
    /// What comes from a client's socket.
    sent: Vec<u8>,
    /// A chunk of a snapshot.
    loaded: Vec<u8>,
    before: Vec<Request>,
    /// After a snapshot was begun.
    meanwhile: Vec<Request>,
}

#[derive(Arbitrary, Debug)]
struct Request {
    operation: u8,
    key: u8,
    arguments: Vec<Argument>,
}

#[derive(Arbitrary, Debug)]
enum Argument {
    Word(u8),
    Small(i8),
    Integer(i64),
    Float(f64),
    Name(u8),
    Bytes(Vec<u8>),
}

/// What commands have for options, and numbers at which something ends.
const WORDS: &str = "nx xx gt lt ch incr ex px exat pxat persist keepttl get set incrby left right before after match \
    count novalues withscores withvalues byscore bylex rev limit rank maxlen overflow wrap sat fail byte bit type \
    fields inf -inf +inf nan ( [ (1 (a [a - + * a* [a-c] \\ u1 u8 u63 i8 i64 #0 #1 0 1 -1 2 3 15 16 127 128 512 \
    4294967296 9223372036854775807 -9223372036854775808 9223372036854775808 1e308 1e-320 0.1 3.0";

/// Commands about one key, by the operations of that name.
static COMMANDS: LazyLock<Vec<(String, Operation)>> = LazyLock::new(|| {
    let operations = (0..).map(Operation::decode).take_while(|operation| *operation != Operation::PopFor);
    let named = operations.map(|operation| (format!("{operation:?}").to_lowercase(), operation));
    named.filter(|(name, _)| command(name.as_bytes()).is_some()).collect()
});

fuzz_target!(|input: Input| {
    parse(&input.sent);
    let mut shard = Shard::default();
    shard.load(input.loaded);
    serve(&mut shard, &input.before, false);
    let at_once = saved(&mut shard, |_| ());
    let in_pieces = saved(&mut shard, |shard| serve(shard, &input.meanwhile, true));
    assert_eq!(at_once, in_pieces, "a snapshot has what was there when it was begun");
    let mut copy = Shard::default();
    let mut bytes = 0_u16.to_le_bytes().to_vec();
    at_once
        .iter()
        .filter(|(_, number, _)| *number == 0)
        .for_each(|(_, _, entry)| bytes.extend_from_slice(entry));
    copy.load(bytes);
    assert_eq!(lasting(&saved(&mut copy, |_| ())), lasting(&at_once), "what is loaded is what was saved");
});

/// Bytes are requests or refused.
fn parse(input: &[u8]) {
    let limits = Limits { longest_argument: 1 << 16, is_authenticated: true };
    let (mut parser, mut start) = (Parser::default(), 0);
    while let Ok(Parsed::Request(next)) = parser.parse(input, start, limits) {
        let arguments: Vec<&[u8]> =
            (0..parser.count()).map(|index| parser.argument(input, start, index)).collect();
        let known = arguments.first().and_then(|name| command(name));
        if let Some(command) = known.filter(|command| command.accepts(arguments.len())) {
            command.keys_of(&arguments);
        }
        assert!(next > start);
        start = next;
    }
}

/// Whether it expires, its database, and its bytes, of each entry.
type Saved = Vec<(bool, u16, Vec<u8>)>;

/// What a snapshot has during which something is done.
fn saved(shard: &mut Shard, meanwhile: impl FnOnce(&mut Shard)) -> Saved {
    shard.begin_snapshot();
    meanwhile(shard);
    let mut saved = Vec::new();
    while let Some(bytes) = shard.next_chunk(()) {
        let (number, encoded) = chunk(&bytes, VERSION).unwrap();
        for entry in entries(encoded, VERSION) {
            let entry = entry.expect("an entry of a snapshot can be read");
            let mut bytes = Vec::new();
            entry.encode(&mut bytes);
            saved.push((entry.expiry.is_some(), number, bytes));
        }
    }
    saved.sort();
    saved
}

/// Those of database 0 that do not expire meanwhile. Members of a set may have another order after it was loaded.
fn lasting(saved: &Saved) -> Vec<Vec<u8>> {
    let lasting = saved.iter().filter(|(expires, number, _)| !expires && *number == 0);
    let mut entries: Vec<_> = lasting.map(|(_, _, entry)| entry.clone()).collect();
    entries.iter_mut().for_each(|entry| entry.sort_unstable());
    entries.sort();
    entries
}

impl Argument {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Word(index) => {
                let words: Vec<&str> = WORDS.split_whitespace().collect();
                words[usize::from(*index) % words.len()].into()
            }
            Self::Small(number) => number.to_string().into(),
            Self::Integer(number) => number.to_string().into(),
            Self::Float(number) => number.to_string().into(),
            // Few, so that some are there.
            Self::Name(number) => format!("f{}", number % 16).into(),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

/// Strings may have 512 MB and replies millions of elements, of which some would be too much here: so a number is small, or
/// beyond what a command accepts.
fn bounded(text: Vec<u8>) -> Vec<u8> {
    let digits = text.strip_prefix(b"#").unwrap_or(&text);
    match number::parse(digits) {
        Some(number) if (1 << 17..1 << 34).contains(&number.unsigned_abs()) => {
            (number % (1 << 17)).to_string().into()
        }
        _ => text,
    }
}

/// Does what these requests ask for; each has as many arguments as its command takes.
fn serve(shard: &mut Shard, requests: &[Request], is_resp3: bool) {
    for Request { operation, key, arguments } in requests {
        let (name, operation) = &COMMANDS[usize::from(*operation) % COMMANDS.len()];
        let Some(command) = command(name.as_bytes()) else { continue };
        let count = usize::try_from(command.arity.abs() - 1).unwrap();
        let mut texts = vec![format!("key{}", key % 8).into_bytes()];
        texts.extend(arguments.iter().map(|argument| bounded(argument.bytes())));
        if texts.len() < count || command.arity > 0 {
            texts.resize(count, b"1".to_vec());
        }
        let texts: Vec<&[u8]> = texts.iter().map(|text| &text[..]).collect();
        let mut replies = Vec::new();
        let mut to = Replies::new(&mut replies, is_resp3);
        let expected = match command.handler {
            Handler::Sum(_) => {
                texts.iter().for_each(|key| shard.execute(*operation, &[key], &mut to));
                texts.len()
            }
            Handler::Key(_) | Handler::Own(_) => {
                shard.execute(*operation, &texts, &mut to);
                1
            }
        };
        let rest = (0..expected).try_fold(&replies[..], |rest, _| after_reply(rest));
        assert_eq!(rest, Some(&[][..]), "{name} replies {}", replies.escape_ascii());
    }
}

/// What follows the reply at the beginning.
fn after_reply(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    let (head, rest) = (&bytes[..end], &bytes[end + 2..]);
    let (kind, text) = head.split_first()?;
    let count = || std::str::from_utf8(text).ok()?.parse::<i64>().ok();
    match kind {
        b'+' | b'-' | b':' | b',' | b'_' | b'#' | b'(' => Some(rest),
        b'$' | b'=' => match count()? {
            -1 => Some(rest),
            length => rest.get(usize::try_from(length).ok()?..)?.strip_prefix(b"\r\n"),
        },
        b'*' | b'~' | b'>' | b'%' => {
            let parts = count()?.max(0) * if *kind == b'%' { 2 } else { 1 };
            (0..parts).try_fold(rest, |rest, _| after_reply(rest))
        }
        _ => None,
    }
}
