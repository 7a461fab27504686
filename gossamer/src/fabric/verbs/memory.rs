//! Memory that a device may reach: protection domains, and regions in them.

use crate::fabric::verbs::abi::types::*;
use crate::fabric::verbs::context::DeviceContext;
use crate::fabric::verbs::errors::failed;
use crate::sys::memory::device_memory::DeviceMemory;
use gossamer_macros::NoRef;
use rustix::process::{Resource, getrlimit};
use std::ffi::c_int;
use std::io;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// A protection domain: a key of one domain opens nothing over a queue pair of another.
pub(crate) struct ProtectionDomain {
    raw: NonNull<ibv_pd>,
    context: Arc<DeviceContext>,
}

// SAFETY: V4.
unsafe impl Send for ProtectionDomain {}
// SAFETY: V4.
unsafe impl Sync for ProtectionDomain {}

impl ProtectionDomain {
    /// # Errors
    /// The device has no domain left, or is gone.
    pub(crate) fn new(context: &Arc<DeviceContext>) -> io::Result<Arc<Self>> {
        // SAFETY: V2, V3.
        let raw = unsafe { (context.verbs().ibv_alloc_pd)(context.raw()) };
        let raw = NonNull::new(raw).ok_or_else(|| context.error("ibv_alloc_pd", ""))?;
        Ok(Arc::new(Self { raw, context: Arc::clone(context) }))
    }

    pub(crate) fn context(&self) -> &Arc<DeviceContext> {
        &self.context
    }

    pub(crate) fn raw(&self) -> *mut ibv_pd {
        self.raw.as_ptr()
    }
}

impl Drop for ProtectionDomain {
    fn drop(&mut self) {
        if self.context.is_here() {
            // SAFETY: V3: the regions and queue pairs in it are gone, since they kept it.
            unsafe { (self.context.verbs().ibv_dealloc_pd)(self.raw()) };
        }
    }
}

/// Memory that a device can be allowed to reach.
///
/// # Safety
/// As long as the value lives, these bytes stay mapped where they are. They are initialised, unless the device only
/// writes them. If a region over them lets the device write (`RegionAccess`), all code of this process reads and writes
/// them as memory that another process writes, too: no Rust reference says that they do not change.
pub(crate) unsafe trait RegisteredMemory: Send + Sync {
    /// The first of the bytes.
    fn start(&self) -> NonNull<u8>;
    fn bytes(&self) -> usize;
}

/// Who may do what with a region, besides writes of this side that read from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegionAccess {
    /// No other access.
    Source,
    /// Reads of this side land in it.
    ReadTarget,
    /// The remote side writes it.
    RemoteWrite,
    /// The remote side reads it.
    RemoteRead,
}

impl RegionAccess {
    fn flags(self) -> u32 {
        match self {
            Self::Source => 0,
            Self::ReadTarget => IBV_ACCESS_LOCAL_WRITE,
            // The device requires local write access for remote write access.
            Self::RemoteWrite => IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
            Self::RemoteRead => IBV_ACCESS_REMOTE_READ,
        }
    }
}

/// The most that a message of InfiniBand can have.
const LARGEST_ENTRY: usize = 1 << 31;

/// Memory as a device knows it. Its pages are pinned.
pub(crate) struct MemoryRegion {
    raw: NonNull<ibv_mr>,
    start: u64,
    bytes: usize,
    local_key: u32,
    remote_key: u32,
    domain: Arc<ProtectionDomain>,
    /// V5.
    memory: ManuallyDrop<Arc<dyn RegisteredMemory>>,
}

// SAFETY: V4.
unsafe impl Send for MemoryRegion {}
// SAFETY: V4.
unsafe impl Sync for MemoryRegion {}

impl MemoryRegion {
    /// Registers memory.
    ///
    /// # Errors
    /// It cannot be pinned: the limit is too small.
    pub(crate) fn new(
        domain: &Arc<ProtectionDomain>,
        memory: Arc<dyn RegisteredMemory>,
        access: RegionAccess,
    ) -> io::Result<Arc<Self>> {
        let (start, bytes) = (memory.start().as_ptr(), memory.bytes());
        let verbs = domain.context.verbs();
        // SAFETY: V2, V3; V5: the memory exists until it is deregistered, and allows this access.
        let raw = unsafe { (verbs.ibv_reg_mr)(domain.raw(), start.cast(), bytes, access.flags() as c_int) };
        let Some(raw) = NonNull::new(raw) else { return Err(not_pinned(&domain.context, bytes)) };
        // SAFETY: V3.
        let registered = unsafe { raw.as_ref() };
        let (local_key, remote_key) = (registered.lkey, registered.rkey);
        let (domain, memory) = (Arc::clone(domain), ManuallyDrop::new(memory));
        Ok(Arc::new(Self { raw, start: start as u64, bytes, local_key, remote_key, domain, memory }))
    }

    /// Some of its bytes, for a work request of this side.
    ///
    /// # Panics
    /// If they are not inside it.
    pub(crate) fn entry(&self, part: Range<usize>) -> GatherEntry {
        assert!(part.start <= part.end && part.end <= self.bytes, "{part:?} of {} bytes", self.bytes);
        assert!(part.len() <= LARGEST_ENTRY, "{part:?}: a message has at most {LARGEST_ENTRY} bytes");
        let (addr, length) = (self.start + part.start as u64, part.len() as u32);
        GatherEntry(ibv_sge { addr, length, lkey: self.local_key })
    }

    /// What the remote side has to know to reach the byte at an offset and the bytes after it.
    ///
    /// # Panics
    /// If it is not inside the region.
    pub(crate) fn remote(&self, offset: usize) -> RemoteAddress {
        assert!(offset <= self.bytes, "{offset} of {} bytes", self.bytes);
        RemoteAddress { address: self.start + offset as u64, key: self.remote_key }
    }
}

impl Drop for MemoryRegion {
    fn drop(&mut self) {
        let context = &self.domain.context;
        if !context.is_here() {
            return;
        }
        // SAFETY: V3.
        let status = unsafe { (context.verbs().ibv_dereg_mr)(self.raw.as_ptr()) };
        if status == 0 {
            // SAFETY: V5: the device does not reach it any more; and nothing uses it after this.
            unsafe { ManuallyDrop::drop(&mut self.memory) };
        }
    }
}

/// Why memory could not be registered.
fn not_pinned(context: &DeviceContext, bytes: usize) -> io::Error {
    let error = io::Error::last_os_error();
    let advice = match getrlimit(Resource::Memlock).current {
        Some(limit) => format!(
            " ({bytes} bytes cannot be pinned; the limit of locked memory is {limit} bytes: raise it with `ulimit -l`, or \
             LimitMEMLOCK= of a service)"
        ),
        None => format!(" ({bytes} bytes cannot be pinned)"),
    };
    failed(context.name(), "ibv_reg_mr", &error, &advice)
}

/// Bytes of a region that a work request of this side reads or writes.
#[derive(Clone, Copy)]
pub(crate) struct GatherEntry(ibv_sge);

impl GatherEntry {
    /// For tests of the code that handles entries.
    #[cfg(test)]
    pub(crate) fn of(entry: ibv_sge) -> Self {
        Self(entry)
    }

    pub(crate) fn raw(self) -> ibv_sge {
        self.0
    }
}

/// A place in a region of the remote side.
#[derive(NoRef, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RemoteAddress {
    pub(crate) address: u64,
    pub(crate) key: u32,
}

impl RemoteAddress {
    /// The place this many bytes further.
    #[inline(always)]
    pub(crate) fn behind(self, bytes: usize) -> Self {
        Self { address: self.address.wrapping_add(bytes as u64), ..self }
    }
}

// SAFETY: I3. No reference into it says that it does not change, except those that other invariants allow: slots are
// handed over by their headers (M1, M2), places of fragments by messages (V9).
unsafe impl RegisteredMemory for DeviceMemory {
    fn start(&self) -> NonNull<u8> {
        DeviceMemory::start(self)
    }

    fn bytes(&self) -> usize {
        self.len()
    }
}
