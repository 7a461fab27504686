//! A snapshot of a shard as it was at one moment, made while the shard goes on: what is about to change is copied
//! first.

use crate::store::Shard;
use crate::store::databases::Database;
use crate::store::entry::Entry;
use crate::store::table::{SEGMENTS, Table};
use crate::store::value::{Kind, encode as encode_value};

/// How many bytes are handed over at a time, roughly.
const CHUNK: usize = 1 << 20;

/// A snapshot that is being made.
pub struct Saving {
    /// The table of the database at that moment.
    number: u16,
    is_taken: Vec<bool>,
    /// Segments before this one have been taken.
    next: usize,
    /// The database's number, and what was taken and not handed over yet.
    taken: Vec<u8>,
}

impl Saving {
    fn new(number: u16) -> Self {
        Self { number, is_taken: vec![false; SEGMENTS], next: 0, taken: number.to_le_bytes().to_vec() }
    }

    /// Takes a segment that is about to change, unless it was taken already.
    pub fn before_change(&mut self, table: &Table, segment: usize) {
        if !std::mem::replace(&mut self.is_taken[segment], true) {
            table.segment(segment).for_each(|entry| encode(entry, &mut self.taken));
        }
    }

    pub fn take_all(&mut self, table: &Table) {
        (0..SEGMENTS).for_each(|segment| self.before_change(table, segment));
    }
}

/// An entry in the form for snapshots, and for moving from one shard to another.
#[derive(Clone, Copy)]
pub struct Encoded<'a> {
    pub kind: Kind,
    pub key: &'a [u8],
    pub value: &'a [u8],
    pub expiry: Option<u64>,
}

/// The type (1 byte), the lengths of key (4) and value (8), when it expires or 0 (8), the key, the value.
pub fn encode(entry: &Entry, to: &mut Vec<u8>) {
    to.push(entry.kind() as u8);
    to.extend_from_slice(&(entry.key().len() as u32).to_le_bytes());
    let at = to.len();
    to.extend_from_slice(&[0; 8]);
    to.extend_from_slice(&entry.expiry().unwrap_or(0).to_le_bytes());
    to.extend_from_slice(entry.key());
    let start = to.len();
    encode_value(entry, to);
    let length = (to.len() - start) as u64;
    to[at..at + 8].copy_from_slice(&length.to_le_bytes());
}

impl Encoded<'_> {
    /// As `encode`.
    pub fn encode(&self, to: &mut Vec<u8>) {
        to.push(self.kind as u8);
        to.extend_from_slice(&(self.key.len() as u32).to_le_bytes());
        to.extend_from_slice(&(self.value.len() as u64).to_le_bytes());
        to.extend_from_slice(&self.expiry.unwrap_or(0).to_le_bytes());
        to.extend_from_slice(self.key);
        to.extend_from_slice(self.value);
    }
}

/// The database of a chunk of a snapshot in this version, and its entries; nothing if the chunk is cut off.
pub fn chunk(chunk: &[u8], version: u8) -> Option<(u16, &[u8])> {
    // Before, there was only one database.
    if version < FIRST_WITH_DATABASES {
        return Some((0, chunk));
    }
    chunk.split_first_chunk().map(|(number, rest)| (u16::from_le_bytes(*number), rest))
}

/// The entries of a chunk, after its database. An entry that is cut off becomes nothing.
pub fn entries(mut chunk: &[u8], version: u8) -> impl Iterator<Item = Option<Encoded<'_>>> {
    std::iter::from_fn(move || {
        if chunk.is_empty() {
            return None;
        }
        let entry = decode(chunk, version);
        chunk = entry.map_or(&[], |(_, rest)| rest);
        Some(entry.map(|(entry, _)| entry))
    })
}

fn decode(chunk: &[u8], version: u8) -> Option<(Encoded<'_>, &[u8])> {
    // In the first version there were only strings, and lengths had 4 bytes.
    let is_first = version == 1;
    let (kind, rest) =
        if is_first { (0, chunk) } else { chunk.split_first().map(|(kind, rest)| (*kind, rest))? };
    let kind = Kind::decode(kind)?;
    let (key, rest) = rest.split_first_chunk()?;
    let (value, rest) = if is_first {
        rest.split_first_chunk().map(|(length, rest)| (u64::from(u32::from_le_bytes(*length)), rest))?
    } else {
        rest.split_first_chunk().map(|(length, rest)| (u64::from_le_bytes(*length), rest))?
    };
    let (expiry, rest) = rest.split_first_chunk()?;
    let (key, rest) = rest.split_at_checked(u32::from_le_bytes(*key) as usize)?;
    let (value, rest) = rest.split_at_checked(usize::try_from(value).ok()?)?;
    let expiry = Some(u64::from_le_bytes(*expiry)).filter(|expiry| *expiry != 0);
    Some((Encoded { kind, key, value, expiry }, rest))
}

/// The version that is written.
pub const VERSION: u8 = 3;
const FIRST_WITH_DATABASES: u8 = 3;

impl Shard {
    /// Begins a snapshot of what is there now.
    pub fn begin_snapshot(&mut self) {
        self.in_each_database(|shard| shard.database.saving = Some(Saving::new(shard.selected)));
    }

    /// The next chunk of the snapshot that is being made; nothing at its end, when the snapshot is dropped.
    pub fn next_chunk(&mut self, (): ()) -> Option<Vec<u8>> {
        let mut chunk = None;
        self.in_each_database(|shard| {
            if chunk.is_none() {
                chunk = shard.database.next_chunk();
            }
        });
        chunk
    }

    pub fn abandon_snapshot(&mut self) {
        self.in_each_database(|shard| shard.database.saving = None);
    }

    /// Adds the entries of a chunk, whatever the limits are.
    pub fn load(&mut self, bytes: Vec<u8>) {
        let Some((number, encoded)) = chunk(&bytes, VERSION) else { return };
        let selected = self.selected;
        self.select(number);
        for encoded in entries(encoded, VERSION).flatten() {
            self.put_encoded(encoded.key, &encoded, encoded.expiry);
        }
        self.select(selected);
    }
}

impl Database {
    fn next_chunk(&mut self) -> Option<Vec<u8>> {
        let saving = self.saving.as_mut()?;
        while saving.taken.len() < CHUNK && saving.next < SEGMENTS {
            saving.before_change(&self.table, saving.next);
            saving.next += 1;
        }
        let head = saving.number.to_le_bytes().to_vec();
        let is_empty = saving.taken.len() == head.len();
        let chunk = std::mem::replace(&mut saving.taken, head);
        if is_empty {
            self.saving = None;
            return None;
        }
        Some(chunk)
    }
}
