//! Devices and contexts, and what they say of themselves.

use super::events::AsyncEvent;
use crate::symbols::*;
use crate::types::*;
use std::ffi::{CStr, c_int};
use std::os::fd::RawFd;
use std::ptr::null_mut;
use std::sync::Arc;

/// What the library has made.
pub(super) struct Object<T>(*mut T);

// SAFETY: T2.
unsafe impl<T> Send for Object<T> {}
// SAFETY: T2.
unsafe impl<T> Sync for Object<T> {}

impl<T> Object<T> {
    /// Nothing, if the library has made nothing.
    pub(super) fn new(made: *mut T) -> Option<Self> {
        (!made.is_null()).then_some(Self(made))
    }

    pub(super) fn raw(&self) -> *mut T {
        self.0
    }

    /// What C sees of it.
    pub(super) fn fields(&self) -> &T {
        // SAFETY: T1, T2.
        unsafe { &*self.0 }
    }
}

/// A list of devices.
pub struct Devices(Object<*mut ibv_device>);

impl Devices {
    pub fn new(count: Option<&mut c_int>) -> Option<Self> {
        let count = count.map_or(null_mut(), std::ptr::from_mut);
        // SAFETY: it writes a number, if there is a place for it.
        Object::new(unsafe { ibv_get_device_list(count) }).map(Self)
    }

    fn device(&self, place: usize) -> Option<*mut ibv_device> {
        // SAFETY: T1: there is a null pointer at the end, and nothing is read behind it.
        let read = |index| unsafe { self.0.raw().wrapping_add(index).read() };
        (0..).map(read).take_while(|device| !device.is_null()).nth(place)
    }

    pub fn is_empty(&self) -> bool {
        self.device(0).is_none()
    }

    pub fn name(&self, place: usize) -> &CStr {
        // SAFETY: T1: a device exists as long as its list.
        let name = unsafe { ibv_get_device_name(self.device(place).unwrap()) };
        // SAFETY: likewise; a text that ends in a zero.
        unsafe { CStr::from_ptr(name) }
    }

    pub fn open(&self, place: usize) -> Option<Arc<Context>> {
        // SAFETY: T1: a device exists as long as its list.
        let object = Object::new(unsafe { ibv_open_device(self.device(place).unwrap()) })?;
        Some(Arc::new(Context { object }))
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        // SAFETY: T1: the last use. Opened devices stay.
        unsafe { ibv_free_device_list(self.0.raw()) };
    }
}

pub struct Context {
    object: Object<ibv_context>,
}

impl Context {
    /// Another context of its device.
    pub fn open_again(&self) -> Option<Arc<Self>> {
        // SAFETY: T1: a context keeps its device.
        let object = Object::new(unsafe { ibv_open_device(self.object.fields().device) })?;
        Some(Arc::new(Self { object }))
    }

    pub(super) fn raw(&self) -> *mut ibv_context {
        self.object.raw()
    }

    /// The calls that have no symbol.
    pub fn calls(&self) -> &ibv_context_ops {
        &self.object.fields().ops
    }

    /// Becomes readable when there is an event.
    pub fn descriptor(&self) -> RawFd {
        self.object.fields().async_fd
    }

    /// Waits for an event; or what the library returns instead.
    pub fn take_event(&self) -> Result<AsyncEvent, c_int> {
        let mut event = ibv_async_event::default();
        // SAFETY: T1; it writes the event.
        let status = unsafe { ibv_get_async_event(self.raw(), &mut event) };
        if status == 0 { Ok(AsyncEvent::new(event)) } else { Err(status) }
    }

    pub fn attributes(&self) -> ibv_device_attr {
        let mut attributes = ibv_device_attr::default();
        // SAFETY: T1; it writes the attributes.
        assert_eq!(unsafe { ibv_query_device(self.raw(), &mut attributes) }, 0);
        attributes
    }

    pub fn port(&self, number: u8) -> Result<ibv_port_attr, c_int> {
        let mut port = ibv_port_attr::default();
        // SAFETY: T1; it writes the attributes.
        let error = unsafe { ibv_query_port(self.raw(), number, &mut port) };
        if error == 0 { Ok(port) } else { Err(error) }
    }

    pub fn gid(&self, port: u8, index: c_int) -> [u8; 16] {
        let mut gid = ibv_gid { raw: [1; 16] };
        // SAFETY: T1; it writes the GID.
        assert_eq!(unsafe { ibv_query_gid(self.raw(), port, index, &mut gid) }, 0);
        // SAFETY: any bytes are a valid GID.
        unsafe { gid.raw }
    }

    /// The GIDs of all ports.
    pub fn gids(&self) -> Vec<ibv_gid_entry> {
        let mut entries = vec![ibv_gid_entry::default(); 8];
        let size = size_of::<ibv_gid_entry>();
        // SAFETY: T1; it writes at most 8 entries of this size.
        let count = unsafe { _ibv_query_gid_table(self.raw(), entries.as_mut_ptr(), 8, 0, size) };
        entries.truncate(usize::try_from(count).unwrap());
        entries
    }

    /// # Safety
    /// It is not used again, nor dropped, nor is what was made of it.
    pub unsafe fn close(&self) -> c_int {
        // SAFETY: T1; the caller's.
        unsafe { ibv_close_device(self.raw()) }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: T1: the last use; what was made of it would have kept it.
        assert_eq!(unsafe { self.close() }, 0);
    }
}
