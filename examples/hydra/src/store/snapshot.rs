//! A snapshot of a shard as it was at one moment, made while it goes on: what is about to change is taken first.

use crate::store::Shard;
use crate::store::table::{SEGMENTS, Table};

/// Bytes that are handed over at once, about.
const CHUNK: usize = 1 << 20;

/// A snapshot that is being made.
pub struct Saving {
    is_taken: Vec<bool>,
    /// Segments before this one are taken.
    next: usize,
    /// What was taken and not handed over.
    taken: Vec<u8>,
}

impl Saving {
    fn new() -> Self {
        Self { is_taken: vec![false; SEGMENTS], next: 0, taken: Vec::new() }
    }

    /// Takes a segment that is about to change, if it was not taken.
    pub fn before_change(&mut self, table: &Table, segment: usize) {
        if !std::mem::replace(&mut self.is_taken[segment], true) {
            table
                .segment(segment)
                .for_each(|entry| encode((entry.key(), entry.value(), entry.expiry()), &mut self.taken));
        }
    }

    pub fn take_all(&mut self, table: &Table) {
        (0..SEGMENTS).for_each(|segment| self.before_change(table, segment));
    }
}

/// The lengths of key and value, when it expires or 0, the key, the value.
pub fn encode((key, value, expiry): (&[u8], &[u8], Option<u64>), to: &mut Vec<u8>) {
    to.extend_from_slice(&(key.len() as u32).to_le_bytes());
    to.extend_from_slice(&(value.len() as u32).to_le_bytes());
    to.extend_from_slice(&expiry.unwrap_or(0).to_le_bytes());
    to.extend_from_slice(key);
    to.extend_from_slice(value);
}

/// The entries of a chunk: key, value, when it expires. None in the place of one that is cut off.
pub fn entries(mut chunk: &[u8]) -> impl Iterator<Item = Option<(&[u8], &[u8], Option<u64>)>> {
    std::iter::from_fn(move || {
        if chunk.is_empty() {
            return None;
        }
        let entry = decode(chunk);
        chunk = entry.map_or(&[], |(.., rest)| rest);
        Some(entry.map(|(key, value, expiry, _)| (key, value, expiry)))
    })
}

fn decode(chunk: &[u8]) -> Option<(&[u8], &[u8], Option<u64>, &[u8])> {
    let (key, rest) = chunk.split_first_chunk()?;
    let (value, rest) = rest.split_first_chunk()?;
    let (expiry, rest) = rest.split_first_chunk()?;
    let (key, rest) = rest.split_at_checked(u32::from_le_bytes(*key) as usize)?;
    let (value, rest) = rest.split_at_checked(u32::from_le_bytes(*value) as usize)?;
    Some((key, value, Some(u64::from_le_bytes(*expiry)).filter(|expiry| *expiry != 0), rest))
}

impl Shard {
    /// Begins a snapshot of what is there now.
    pub fn begin_snapshot(&mut self) {
        self.saving = Some(Saving::new());
    }

    /// The next chunk of the snapshot that is being made; none at its end, when the snapshot is given up.
    pub fn next_chunk(&mut self, (): ()) -> Option<Vec<u8>> {
        let saving = self.saving.as_mut()?;
        while saving.taken.len() < CHUNK && saving.next < SEGMENTS {
            saving.before_change(&self.table, saving.next);
            saving.next += 1;
        }
        let chunk = std::mem::take(&mut saving.taken);
        if chunk.is_empty() {
            self.saving = None;
            return None;
        }
        Some(chunk)
    }

    pub fn abandon_snapshot(&mut self) {
        self.saving = None;
    }

    /// Puts in the entries of a chunk, whatever the limits.
    pub fn load(&mut self, chunk: Vec<u8>) {
        for (key, value, expiry) in entries(&chunk).flatten() {
            let slot = self.table.find(key);
            self.put(slot, key, value, expiry);
        }
    }
}
