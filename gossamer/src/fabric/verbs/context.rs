//! The devices of this machine, and an opened one.

use crate::fabric::verbs::abi::{Verbs, types::*};
use crate::fabric::verbs::availability::Unavailable;
use crate::fabric::verbs::choice::address::Mtu;
use crate::fabric::verbs::choice::port::{GidEntry, PortDescription};
#[cfg(feature = "ibverbs")]
use crate::fabric::verbs::discovery;
use crate::fabric::verbs::errors::{checked, failed};
use crate::sys::process::forked::Process;
use rustix::io::ioctl_fionbio;
use std::ffi::{CStr, c_int};
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::Arc;

/// The devices of this machine.
pub(crate) struct DeviceList {
    verbs: &'static Verbs,
    devices: NonNull<*mut ibv_device>,
    count: usize,
}

impl DeviceList {
    /// # Errors
    /// There is no library, or no device.
    pub(crate) fn get() -> Result<Self, Unavailable> {
        Self::of(Verbs::get().map_err(|why| Unavailable::NoLibrary(why.to_owned()))?)
    }

    pub(crate) fn of(verbs: &'static Verbs) -> Result<Self, Unavailable> {
        let mut count = 0;
        // SAFETY: V2; it writes a number.
        let devices = unsafe { (verbs.ibv_get_device_list)(&mut count) };
        // Without a driver in the kernel it is an error, not an empty list.
        let Some(devices) = NonNull::new(devices) else {
            return Err(Unavailable::of_device_list(&io::Error::last_os_error()));
        };
        let list = Self { verbs, devices, count: count.try_into().unwrap_or(0) };
        if list.count == 0 { Err(Unavailable::NoDevice) } else { Ok(list) }
    }

    /// The names of the devices.
    pub(crate) fn names(&self) -> Vec<String> {
        (0..self.count).map(|index| self.name(index)).collect()
    }

    #[cfg(feature = "ibverbs")]
    fn name(&self, index: usize) -> String {
        discovery::name(self.verbs, self.device(index))
    }

    #[cfg(not(feature = "ibverbs"))]
    fn name(&self, index: usize) -> String {
        // SAFETY: V3: the list has this many devices (asserted), until it is dropped.
        let name = unsafe { (self.verbs.ibv_get_device_name)(self.device(index)) };
        // SAFETY: V3: a text of the device.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }

    fn device(&self, index: usize) -> *mut ibv_device {
        assert!(index < self.count, "a device of the list");
        // SAFETY: V3: inside the list.
        let device = unsafe { self.devices.add(index) };
        // SAFETY: V3: likewise.
        unsafe { device.read() }
    }

    /// Why a device could not be opened. If the library may not open the device's file, it looks for it in a second
    /// place, and reports what is wrong there.
    fn why_closed(&self, device: *mut ibv_device) -> io::Error {
        let error = io::Error::last_os_error();
        // SAFETY: V3: a device of the list, whose type is public.
        let name = unsafe { &(*device).dev_name };
        // SAFETY: V2: a text that ends in a zero.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) };
        let file = format!("/dev/infiniband/{}", name.to_string_lossy());
        let opened = File::options().read(true).write(true).open(file);
        opened.err().filter(|first| first.kind() == io::ErrorKind::PermissionDenied).unwrap_or(error)
    }

    /// Opens a device.
    ///
    /// # Errors
    /// It may not be opened, or its transport has no queue pairs that are connected by addresses (iWARP).
    pub(crate) fn open(&self, index: usize) -> Result<Arc<DeviceContext>, Unavailable> {
        let (device, name) = (self.device(index), self.name(index));
        // SAFETY: V3: a device of the list, whose type is public.
        if unsafe { (*device).transport_type } != IBV_TRANSPORT_IB {
            return Err(Unavailable::OtherTransport { device: name });
        }
        // SAFETY: V2, V3.
        let context = unsafe { (self.verbs.ibv_open_device)(device) };
        let Some(raw) = NonNull::new(context) else {
            return Err(Unavailable::of_opening(name, &self.why_closed(device)));
        };
        let context = DeviceContext { verbs: self.verbs, raw, name, process: Process::this() };
        match ioctl_fionbio(context.async_descriptor(), true) {
            Ok(()) => Ok(Arc::new(context)),
            Err(error) => Err(Unavailable::of_opening(context.name.clone(), &error.into())),
        }
    }
}

impl Drop for DeviceList {
    fn drop(&mut self) {
        // SAFETY: V3. Opened devices stay.
        unsafe { (self.verbs.ibv_free_device_list)(self.devices.as_ptr()) };
    }
}

/// An opened device: the root of everything that is made on it.
pub(crate) struct DeviceContext {
    verbs: &'static Verbs,
    raw: NonNull<ibv_context>,
    name: String,
    process: Process,
}

// SAFETY: V4.
unsafe impl Send for DeviceContext {}
// SAFETY: V4.
unsafe impl Sync for DeviceContext {}

impl DeviceContext {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn verbs(&self) -> &'static Verbs {
        self.verbs
    }

    pub(crate) fn raw(&self) -> *mut ibv_context {
        self.raw.as_ptr()
    }

    /// Its calls that have no symbol.
    pub(crate) fn operations(&self) -> &ibv_context_ops {
        // SAFETY: V3; they do not change once the device is open.
        unsafe { &(*self.raw()).ops }
    }

    /// Whether this process opened it, not the process that this one is a copy of (V8).
    pub(crate) fn is_here(&self) -> bool {
        self.process.is_this()
    }

    /// The last error of the C library, as an error of a call on this device.
    pub(crate) fn error(&self, call: &str, advice: &str) -> io::Error {
        failed(&self.name, call, &io::Error::last_os_error(), advice)
    }

    /// The result of a call on this device.
    pub(crate) fn checked(&self, call: &str, status: c_int, advice: &str) -> io::Result<()> {
        checked(status).map_err(|error| failed(&self.name, call, &error, advice))
    }

    /// # Errors
    /// The device is gone.
    pub(crate) fn limits(&self) -> io::Result<DeviceLimits> {
        let attributes = self.attributes()?;
        let number = |limit: c_int| u32::try_from(limit).unwrap_or(0);
        Ok(DeviceLimits {
            queue_pairs: number(attributes.max_qp),
            work_requests: number(attributes.max_qp_wr),
            gather_entries: number(attributes.max_sge),
            completion_entries: number(attributes.max_cqe),
            reads_received: attributes.max_qp_rd_atom.clamp(0, 255) as u8,
            reads_sent: attributes.max_qp_init_rd_atom.clamp(0, 255) as u8,
        })
    }

    fn attributes(&self) -> io::Result<ibv_device_attr> {
        let mut attributes = ibv_device_attr::default();
        // SAFETY: V2, V3; it writes the attributes.
        let status = unsafe { (self.verbs.ibv_query_device)(self.raw(), &mut attributes) };
        self.checked("ibv_query_device", status, "")?;
        Ok(attributes)
    }

    /// Its ports, in their current state.
    ///
    /// # Errors
    /// The device is gone.
    pub(crate) fn ports(&self) -> io::Result<Vec<PortDescription>> {
        let mut ports = Vec::new();
        let mut gids = 0;
        for number in 1..=self.attributes()?.phys_port_cnt {
            let port = self.port(number)?;
            gids += usize::try_from(port.gid_tbl_len).unwrap_or(0);
            ports.push(PortDescription {
                device: self.name.clone(),
                port: number,
                state: port.state,
                mtu: Mtu::of_code(port.active_mtu),
                link_layer: port.link_layer,
                lid: port.lid,
                gids: Vec::new(),
            });
        }
        for (number, gid) in self.gids(&ports, gids)? {
            let owner = ports.iter_mut().find(|port| u32::from(port.port) == number);
            owner.into_iter().for_each(|port| port.gids.push(gid));
        }
        Ok(ports)
    }

    fn port(&self, number: u8) -> io::Result<ibv_port_attr> {
        let mut port = ibv_port_attr::default();
        // SAFETY: V2, V3; it writes the attributes.
        let status = unsafe { (self.verbs.ibv_query_port)(self.raw(), number, &mut port) };
        self.checked("ibv_query_port", status, "")?;
        Ok(port)
    }

    /// The most bytes that a message of a port has.
    ///
    /// # Errors
    /// There is no such port, or the device is gone.
    pub(crate) fn largest_message(&self, port: u8) -> io::Result<u32> {
        self.port(port).map(|port| port.max_msg_sz)
    }

    /// The GIDs of all ports, at most this many, with the numbers of the ports.
    #[cfg(feature = "ibverbs")]
    fn gids(&self, ports: &[PortDescription], most: usize) -> io::Result<Vec<(u32, GidEntry)>> {
        if !discovery::knows(ports) {
            return self.gid_table(most);
        }
        // SAFETY: V3: a context keeps its device.
        let device = unsafe { (*self.raw()).device };
        let gids = discovery::gids(self.verbs, device);
        let gids = gids.map_err(|error| failed(&self.name, "ibv_query_gid_table", &error, ""))?;
        Ok(gids.into_iter().map(|gid| (1, gid)).collect())
    }

    #[cfg(not(feature = "ibverbs"))]
    fn gids(&self, _ports: &[PortDescription], most: usize) -> io::Result<Vec<(u32, GidEntry)>> {
        self.gid_table(most)
    }

    /// As the library reports them.
    pub(super) fn gid_table(&self, most: usize) -> io::Result<Vec<(u32, GidEntry)>> {
        let mut entries = vec![ibv_gid_entry::default(); most];
        if most == 0 {
            return Ok(Vec::new());
        }
        let (first, each) = (entries.as_mut_ptr(), size_of::<ibv_gid_entry>());
        // SAFETY: V2, V3; it writes at most this many entries, of this size.
        let found = unsafe { (self.verbs._ibv_query_gid_table)(self.raw(), first, most, 0, each) };
        let Ok(count) = usize::try_from(found) else {
            self.checked("ibv_query_gid_table", found.unsigned_abs() as c_int, "")?;
            return Ok(Vec::new());
        };
        let entry = |entry: &ibv_gid_entry| {
            // SAFETY: any bytes are a valid GID.
            let bytes = unsafe { entry.gid.raw };
            (entry.port_num, GidEntry { index: entry.gid_index, kind: entry.gid_type, gid: bytes.into() })
        };
        Ok(entries.iter().take(count).map(entry).collect())
    }

    /// The descriptor that becomes readable when an asynchronous event has arrived.
    pub(crate) fn async_descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: V3.
        let number = unsafe { (*self.raw()).async_fd };
        // SAFETY: V3: open as long as the context is.
        unsafe { BorrowedFd::borrow_raw(number) }
    }
}

impl Drop for DeviceContext {
    fn drop(&mut self) {
        if self.is_here() {
            // SAFETY: V3: what was made on it is gone, since it kept the context. If this fails, the device is gone
            // already.
            unsafe { (self.verbs.ibv_close_device)(self.raw()) };
        }
    }
}

/// What a device can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceLimits {
    pub(crate) queue_pairs: u32,
    /// Of each of the two queues of a queue pair.
    pub(crate) work_requests: u32,
    /// Of a work request.
    pub(crate) gather_entries: u32,
    /// Of a completion queue.
    pub(crate) completion_entries: u32,
    /// Reads under way that a queue pair answers.
    pub(crate) reads_received: u8,
    /// Reads under way that a queue pair starts.
    pub(crate) reads_sent: u8,
}
