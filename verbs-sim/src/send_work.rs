//! A work request of a send queue: what it was posted with, and the bytes that it sends.

use crate::faults::Counters;
use crate::memory::{Regions, Span, load};
use crate::packet::{Body, FRAGMENT_BYTES, Write};
use crate::queue_pairs::QueuePair;
use crate::types::*;
use libc::{EINVAL, c_int};

pub(crate) struct SendWork {
    /// Its place among all work requests of the queue pair.
    pub index: u64,
    pub id: u64,
    opcode: u32,
    pub is_signalled: bool,
    pub is_fenced: bool,
    is_solicited: bool,
    immediate: Option<u32>,
    address: u64,
    key: u32,
    pub length: u64,
    /// The number of its first packet.
    pub psn: u32,
    source: Source,
    /// Whether the device has begun with it, and the status that it then decided to end it with.
    pub is_begun: bool,
    pub fault: Option<u32>,
}

/// Where a message comes from, or goes to.
enum Source {
    Inline(Vec<u8>),
    Regions(Vec<Span>),
}

impl SendWork {
    /// What is posted, or why it is refused.
    ///
    /// # Safety
    /// X1: what it names inline is readable.
    pub(crate) unsafe fn new(pair: &QueuePair, wr: &ibv_send_wr, list: &[ibv_sge]) -> Result<Self, c_int> {
        let length: u64 = list.iter().map(|element| u64::from(element.length)).sum();
        let is_inline = wr.send_flags & IBV_SEND_INLINE != 0;
        let fits_inline = wr.opcode != IBV_WR_RDMA_READ && length <= pair.capacity.max_inline_data.into();
        let is_known = matches!(wr.opcode, IBV_WR_RDMA_WRITE | IBV_WR_RDMA_WRITE_WITH_IMM | IBV_WR_RDMA_READ);
        let is_ready = matches!(pair.state, IBV_QPS_RTS | IBV_QPS_ERR);
        let has_too_many = list.len() > pair.capacity.max_send_sge as usize;
        if !is_ready || !is_known || has_too_many || is_inline && !fits_inline {
            return Err(EINVAL);
        }
        // SAFETY: all bytes are a value of either variant, and the caller has written those of a WRITE or a READ.
        let remote = unsafe { wr.wr.rdma };
        // SAFETY: likewise.
        let immediate = unsafe { wr.__bindgen_anon_1.imm_data };
        let source = if is_inline {
            // SAFETY: the caller's.
            Source::Inline(unsafe { gather(list.iter().map(span), length) })
        } else {
            Source::Regions(list.iter().map(span).collect())
        };
        Ok(Self {
            index: 0,
            id: wr.wr_id,
            opcode: wr.opcode,
            is_signalled: pair.are_all_signalled || wr.send_flags & IBV_SEND_SIGNALED != 0,
            is_fenced: wr.send_flags & IBV_SEND_FENCE != 0,
            is_solicited: wr.send_flags & IBV_SEND_SOLICITED != 0,
            immediate: (wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM).then_some(immediate),
            address: remote.remote_addr,
            key: remote.rkey,
            length,
            psn: 0,
            source,
            is_begun: false,
            fault: None,
        })
    }

    pub(crate) fn is_read(&self) -> bool {
        self.opcode == IBV_WR_RDMA_READ
    }

    /// As a completion names it.
    pub(crate) fn operation(&self) -> u32 {
        if self.is_read() { IBV_WC_RDMA_READ } else { IBV_WC_RDMA_WRITE }
    }

    /// Whether its local keys permit it.
    pub(crate) fn is_allowed(&self, regions: &Regions, domain: u32) -> bool {
        match &self.source {
            Source::Inline(_) => true,
            Source::Regions(spans) => {
                spans.iter().all(|span| regions.allows_local(domain, *span, self.is_read()))
            }
        }
    }

    /// The bytes that it sends: whatever is not inline is read from memory now.
    ///
    /// # Safety
    /// X2: it is allowed by regions that were found under the lock that is still held.
    pub(crate) unsafe fn bodies(&self) -> Vec<Body> {
        if self.is_read() {
            return vec![Body::Read { address: self.address, key: self.key, length: self.length as u32 }];
        }
        let gathered;
        let bytes = match &self.source {
            Source::Inline(bytes) => bytes,
            Source::Regions(spans) => {
                // SAFETY: the caller's.
                gathered = unsafe { gather(spans.iter().copied(), self.length) };
                &gathered
            }
        };
        let count = bytes.len().div_ceil(FRAGMENT_BYTES).max(1);
        (0..count).map(|index| self.fragment(index * FRAGMENT_BYTES, bytes)).collect()
    }

    fn fragment(&self, offset: usize, bytes: &[u8]) -> Body {
        let end = bytes.len().min(offset + FRAGMENT_BYTES);
        Body::Write(Write {
            address: self.address,
            key: self.key,
            length: self.length as u32,
            offset: offset as u32,
            immediate: self.immediate,
            solicited: self.is_solicited,
            bytes: bytes[offset..end].to_vec(),
        })
    }

    /// Distributes the data of a READ over the regions that it goes to: the key, the address and the bytes of each
    /// part.
    pub(crate) fn scatter(&self, offset: u32, bytes: &[u8]) -> Vec<(u32, u64, Vec<u8>)> {
        let Source::Regions(spans) = &self.source else { return Vec::new() };
        let (from, to) = (u64::from(offset), u64::from(offset) + bytes.len() as u64);
        let (mut begin, mut parts) = (0, Vec::new());
        for span in spans {
            let end = begin + span.length;
            let (first, last) = (from.max(begin), to.min(end));
            if first < last {
                let part = &bytes[(first - from) as usize..(last - from) as usize];
                parts.push((span.key, span.address + first - begin, part.to_vec()));
            }
            begin = end;
        }
        parts
    }
}

impl Counters {
    pub(crate) fn count(&mut self, work: &SendWork) {
        self.bytes += work.length;
        match work.opcode {
            IBV_WR_RDMA_READ => self.reads += 1,
            IBV_WR_RDMA_WRITE => self.writes += 1,
            _ => self.writes_with_immediate += 1,
        }
    }
}

fn span(element: &ibv_sge) -> Span {
    Span { key: element.lkey, address: element.addr, length: u64::from(element.length) }
}

/// Reads memory, one part after another.
///
/// # Safety
/// It is mapped: X1 or X2.
unsafe fn gather(spans: impl Iterator<Item = Span>, length: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length as usize);
    for span in spans {
        // SAFETY: the caller's.
        unsafe { load(span.address, span.length as usize, &mut bytes) };
    }
    bytes
}
