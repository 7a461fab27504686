//! Registered memory: keys, rights, bounds and domains, and how its bytes are read.

use crate::types::*;
use libc::{EFAULT, EINVAL, c_int};
use rustix::param::page_size;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// A memory region.
pub(crate) struct Region {
    pub device: usize,
    pub context: u32,
    pub domain: u32,
    pub address: u64,
    pub length: u64,
    pub access: u32,
    pub local_key: u32,
    pub remote_key: u32,
}

/// All regions of the process, by handle and by key.
#[derive(Default)]
pub(crate) struct Regions {
    regions: HashMap<u32, Region>,
    local: HashMap<u32, u32>,
    remote: HashMap<u32, u32>,
}

/// A range of bytes of a region, as a key names it.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub key: u32,
    pub address: u64,
    pub length: u64,
}

impl Region {
    /// How many bytes the pages have that it pins.
    pub(crate) fn pinned(&self) -> u64 {
        pinned(self.address, self.length)
    }

    fn covers(&self, domain: u32, span: Span) -> bool {
        let end = span.address.checked_add(span.length);
        let inside = end.is_some_and(|end| end <= self.address + self.length);
        self.domain == domain && span.address >= self.address && inside
    }
}

impl Regions {
    pub(crate) fn insert(&mut self, handle: u32, region: Region) {
        self.local.insert(region.local_key, handle);
        self.remote.insert(region.remote_key, handle);
        self.regions.insert(handle, region);
    }

    pub(crate) fn remove(&mut self, handle: u32) {
        if let Some(region) = self.regions.remove(&handle) {
            self.local.remove(&region.local_key);
            self.remote.remove(&region.remote_key);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Region)> {
        self.regions.iter().map(|(handle, region)| (*handle, region))
    }

    /// A key that no region has. Local and remote keys differ, so that one is never taken for the other.
    pub(crate) fn free_key(&self) -> u32 {
        loop {
            let key = fastrand::u32(256..);
            if !self.local.contains_key(&key) && !self.remote.contains_key(&key) {
                return key;
            }
        }
    }

    /// Whether a local key of the domain permits to read, or to write, these bytes.
    pub(crate) fn allows_local(&self, domain: u32, span: Span, write: bool) -> bool {
        let region = self.local.get(&span.key).and_then(|handle| self.regions.get(handle));
        let right = |region: &Region| !write || region.access & IBV_ACCESS_LOCAL_WRITE != 0;
        region.is_some_and(|region| region.covers(domain, span) && right(region))
    }

    /// Whether a remote key of the domain gives this right over the bytes. A message without bytes needs no key.
    pub(crate) fn allows_remote(&self, domain: u32, span: Span, right: u32) -> bool {
        let region = self.remote.get(&span.key).and_then(|handle| self.regions.get(handle));
        let allows = |region: &Region| region.covers(domain, span) && region.access & right != 0;
        span.length == 0 || region.is_some_and(allows)
    }
}

/// How many bytes the pages have that a range touches.
pub(crate) fn pinned(address: u64, length: u64) -> u64 {
    let page = page_size() as u64;
    (address + length).next_multiple_of(page) - address / page * page
}

/// The error with which a registration is refused.
pub(crate) fn check_registration(address: u64, length: u64, access: u32) -> Result<(), c_int> {
    let remote_write = access & IBV_ACCESS_REMOTE_WRITE != 0;
    if length == 0 || remote_write && access & IBV_ACCESS_LOCAL_WRITE == 0 {
        return Err(EINVAL);
    }
    address.checked_add(length).ok_or(EINVAL)?;
    let page = page_size() as u64;
    let first = address / page * page;
    let bytes = pinned(address, length) as usize;
    let mut residence = vec![0_u8; bytes / page as usize];
    // SAFETY: asks the kernel about addresses, whatever is there; the list has a byte for each page.
    let answer = unsafe { libc::mincore(first as *mut libc::c_void, bytes, residence.as_mut_ptr()) };
    if answer == 0 { Ok(()) } else { Err(EFAULT) }
}

/// Reads bytes that the process may change meanwhile, whole words at once.
///
/// # Safety
/// They are mapped: X2, or a caller's (X1).
pub(crate) unsafe fn load(address: u64, length: usize, into: &mut Vec<u8>) {
    let end = address + length as u64;
    let mut at = address;
    while at < end {
        if at.is_multiple_of(8) && end - at >= 8 {
            // SAFETY: mapped, by the caller; aligned, as was just seen.
            let word = unsafe { AtomicU64::from_ptr(at as *mut u64) };
            into.extend_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
            at += 8;
        } else {
            // SAFETY: mapped, by the caller.
            let byte = unsafe { AtomicU8::from_ptr(at as *mut u8) };
            into.push(byte.load(Ordering::Relaxed));
            at += 1;
        }
    }
}
