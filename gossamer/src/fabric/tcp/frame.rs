//! What goes over a connection, in records.
//!
//! ```text
//! write       worker (32) | what (8) | slot (8) | mark (16)      the worker whose slots are written, and which of them
//!             header, then as many words of body as it says      as they land
//! fragment    worker (32) | 2 (8) | align (8) | mark (16)        for that worker, of a row of a large value
//!             bytes (64), ticket (64), bytes of the row (64), then the bytes, in whole words
//! ```

use crate::fabric::{FRAGMENT_BYTES, FRAME_SLOTS, Fragment, SlotMemory, Slots};
use crate::wire::batch::{FAR_BODY_WORDS, Header};
use crate::wire::refusal::Malformed;
use crate::wire::row::RowLayout;
use crate::wire::word::{Word, bytes_of, initialised, words_of};

/// Distinguishes a frame from anything else that might arrive.
const MARK: u64 = 0x673a;
/// Words before the body.
const HEAD: usize = 2;
/// Words before the bytes of a fragment.
const FRAGMENT_HEAD: usize = 4;
/// Bytes of the longest frame.
pub(super) const LONGEST: usize = {
    let (write, fragment) =
        (8 * (HEAD + FAR_BODY_WORDS), 8 * FRAGMENT_HEAD + FRAGMENT_BYTES.next_multiple_of(8));
    if write > fragment { write } else { fragment }
};
/// Marks a fragment, where a write names its slots.
const FRAGMENT: u64 = 2;

/// What arrives, for a worker of this node.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) worker: u32,
    pub(crate) content: Content<'a>,
}

/// The content of a frame.
#[derive(Debug)]
pub(crate) enum Content<'a> {
    Write(SlotWrite<'a>),
    Fragment(Fragment<'a>),
}

/// A write into slots of the worker.
#[derive(Debug)]
pub(crate) struct SlotWrite<'a> {
    pub(crate) slots: Slots,
    pub(crate) slot: usize,
    pub(crate) header: u64,
    pub(crate) body: &'a [u64],
}

impl SlotWrite<'_> {
    /// Performs the write, into the slots that it is for.
    ///
    /// # Errors
    /// If the slot is not free.
    ///
    /// # Safety
    /// The frames of the lane are landed by one thread.
    pub(super) unsafe fn land(&self, memory: &SlotMemory) -> Result<(), Malformed> {
        // SAFETY: guaranteed by the caller.
        unsafe { memory.land_frame(self.slot, self.header, words_of(self.body)) }
    }
}

/// The frame at the start of these words, and how many it takes; `None` if part of it is still missing.
///
/// # Errors
/// If no frame starts there.
#[inline]
pub(crate) fn decode(words: &[u64]) -> Result<Option<(Frame<'_>, usize)>, Malformed> {
    let [head, header, rest @ ..] = words else { return Ok(None) };
    let malformed = || Err(Malformed::instead_of::<Frame<'_>>());
    if head & 0xffff != MARK {
        return malformed();
    }
    let slots = match head >> 24 & 0xff {
        0 => Slots::Requests,
        1 => Slots::Responses,
        FRAGMENT => return decode_fragment(words),
        _ => return malformed(),
    };
    let (slot, length) = ((head >> 16 & 0xff) as usize, usize::from(Header::unpack(*header).words));
    if slot >= FRAME_SLOTS || length > FAR_BODY_WORDS {
        return malformed();
    }
    let Some(body) = rest.get(..length) else { return Ok(None) };
    let content = Content::Write(SlotWrite { slots, slot, header: *header, body });
    Ok(Some((Frame { worker: (head >> 32) as u32, content }, HEAD + length)))
}

fn decode_fragment(words: &[u64]) -> Result<Option<(Frame<'_>, usize)>, Malformed> {
    let [head, count, ticket, row_bytes, rest @ ..] = words else { return Ok(None) };
    let count = usize::try_from(*count).ok().filter(|count| *count <= FRAGMENT_BYTES);
    let count = count.ok_or_else(Malformed::instead_of::<Fragment<'_>>)?;
    let length = count.div_ceil(size_of::<u64>());
    let Some(body) = rest.get(..length) else { return Ok(None) };
    let row = RowLayout { bytes: *row_bytes, align: (head >> 16) as u8 };
    let content = Content::Fragment(Fragment { ticket: *ticket, row, bytes: &bytes_of(body)[..count] });
    Ok(Some((Frame { worker: (head >> 32) as u32, content }, FRAGMENT_HEAD + length)))
}

/// Adds a write into the slots of a worker to the output.
///
/// # Safety
/// W6.
#[inline]
pub(super) unsafe fn encode_write(
    out: &mut Vec<u64>,
    (worker, slots): (u32, Slots),
    slot: usize,
    header: u64,
    body: &[Word],
) {
    let head = u64::from(worker) << 32 | (slots as u64) << 24 | (slot as u64) << 16 | MARK;
    out.extend_from_slice(&[head, header]);
    // SAFETY: W6: guaranteed by the caller.
    out.extend_from_slice(unsafe { initialised(body) });
}

/// Adds a fragment for a worker to the output.
pub(super) fn encode_fragment(out: &mut Vec<u64>, worker: u32, fragment: Fragment<'_>) {
    let Fragment { ticket, row, bytes } = fragment;
    let head = u64::from(worker) << 32 | FRAGMENT << 24 | u64::from(row.align) << 16 | MARK;
    out.extend_from_slice(&[head, bytes.len() as u64, ticket, row.bytes]);
    let (words, rest) = bytes.as_chunks::<8>();
    out.extend(words.iter().map(|word| u64::from_ne_bytes(*word)));
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        out.push(u64::from_ne_bytes(last));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use fastrand::Rng;

    #[test]
    fn what_is_no_frame_is_refused() {
        let head = |slots: u64, slot: u64, mark: u64| slots << 24 | slot << 16 | mark;
        let header = |words| Header { sequence: 1, count: 1, words }.pack();
        for words in [
            [head(0, 0, 0), header(0)],
            [head(3, 0, MARK), header(0)],
            [head(0, FRAME_SLOTS as u64, MARK), header(0)],
            [head(0, 0, MARK), header(FAR_BODY_WORDS as u16 + 1)],
            [u64::MAX, u64::MAX],
        ] {
            assert!(decode(&words).is_err(), "{words:x?}");
        }
        let large = FRAGMENT_BYTES as u64 + 1;
        assert!(decode(&[head(FRAGMENT, 0, MARK), large, 0, 0]).is_err(), "a fragment too large");
        assert!(
            decode(&[head(0, 0, MARK), header(2), 7]).is_ok_and(|frame| frame.is_none()),
            "not all there"
        );
    }

    #[test]
    fn random_words_never_make_the_decoder_panic() {
        let mut random = Rng::with_seed(1);
        for _ in 0..100_000 {
            let mut words: Vec<u64> = (0..random.usize(..200)).map(|_| random.u64(..)).collect();
            if let Some(head) = words.first_mut() {
                *head = *head & !0xff_ffff
                    | random.u64(..3) << 24
                    | random.u64(..FRAME_SLOTS as u64) << 16
                    | MARK;
            }
            let Ok(Some((Frame { content, .. }, length))) = decode(&words) else { continue };
            assert!(length <= words.len());
            match content {
                Content::Write(write) => assert!(write.slot < FRAME_SLOTS),
                Content::Fragment(fragment) => assert!(length * 8 >= fragment.bytes.len()),
            }
        }
    }
}
