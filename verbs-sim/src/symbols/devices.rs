//! Devices, contexts, and what they say of themselves.

use super::{ListedDevice, MUTEX, OpenContext, handle_of, object, set_errno, status, work};
use crate::config::PortConfig;
use crate::events::EventQueue;
use crate::state::{Context, State, lock, start_delivery};
use crate::types::*;
use libc::{EACCES, EINVAL, EIO, ENODATA, ENODEV, ENOSYS, c_char, c_int};
use std::ptr::null_mut;

fn listed(state: &State, index: usize) -> Box<ListedDevice> {
    let mut base = ibv_device {
        _ops: [None; 2],
        node_type: 1,
        transport_type: IBV_TRANSPORT_IB,
        name: [0; 64],
        dev_name: [0; 64],
        dev_path: [0; 256],
        ibdev_path: [0; 256],
    };
    for (to, from) in base.name.iter_mut().zip(state.devices[index].config.name.bytes().take(63)) {
        *to = from as c_char;
    }
    Box::new(ListedDevice { base, index })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_get_device_list(count: *mut c_int) -> *mut *mut ibv_device {
    let state = lock();
    let devices = 0..state.devices.len();
    // SAFETY: X1: null, or a place for it.
    if let Some(count) = unsafe { count.as_mut() } {
        *count = devices.len() as c_int;
    }
    if !state.is_supported {
        set_errno(ENOSYS);
        return null_mut();
    }
    let devices = devices.map(|index| Box::into_raw(listed(&state, index)).cast());
    let list: Vec<*mut ibv_device> = devices.chain([null_mut()]).collect();
    Box::into_raw(list.into_boxed_slice()).cast()
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_free_device_list(list: *mut *mut ibv_device) {
    let mut length = 1;
    loop {
        // SAFETY: X1: the list ends with a null pointer.
        let place = unsafe { list.add(length - 1) };
        // SAFETY: likewise.
        let device = unsafe { place.read() };
        if device.is_null() {
            break;
        }
        // SAFETY: X3: devices are made for one list.
        drop(unsafe { Box::from_raw(device.cast::<ListedDevice>()) });
        length += 1;
    }
    // SAFETY: X3: a boxed slice with one null pointer, at its end.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(list, length)) });
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_get_device_name(device: *mut ibv_device) -> *const c_char {
    // SAFETY: X1.
    unsafe { (&raw const (*device).name).cast() }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_get_device_guid(device: *mut ibv_device) -> u64 {
    // SAFETY: X1, X3.
    let index = unsafe { (*device.cast::<ListedDevice>()).index };
    guid(index)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_get_device_index(device: *mut ibv_device) -> c_int {
    // SAFETY: X1, X3.
    unsafe { (*device.cast::<ListedDevice>()).index as c_int }
}

/// In network byte order.
fn guid(device: usize) -> u64 {
    (0x0200_5e00_0000_0001 + device as u64).to_be()
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_open_device(device: *mut ibv_device) -> *mut ibv_context {
    // SAFETY: X1, X3.
    let index = unsafe { (*device.cast::<ListedDevice>()).index };
    start_delivery();
    object(open(index))
}

fn open(index: usize) -> Result<Box<OpenContext>, c_int> {
    let mut state = lock();
    if state.devices[index].config.denied {
        return Err(EACCES);
    }
    if state.devices[index].is_fatal {
        return Err(ENODEV);
    }
    let events = EventQueue::new().map_err(|error| error.raw_os_error())?;
    let descriptor = events.descriptor();
    let handle = state.new_handle();
    state.contexts.insert(handle, Context { device: index, events });
    let mut device = listed(&state, index);
    let base = ibv_context {
        device: &raw mut device.base,
        ops: ibv_context_ops {
            _compat_query_device: [None; _],
            poll_cq: Some(work::poll_cq),
            req_notify_cq: Some(work::req_notify_cq),
            _compat_cq_event: [None; _],
            post_send: Some(work::post_send),
            post_recv: Some(work::post_recv),
            _compat_create_ah: [None; _],
        },
        cmd_fd: -1,
        async_fd: descriptor,
        num_comp_vectors: 1,
        mutex: MUTEX,
        abi_compat: null_mut(),
    };
    Ok(Box::new(OpenContext { base, handle, device }))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_close_device(context: *mut ibv_context) -> c_int {
    // SAFETY: X1, X3.
    let context = unsafe { Box::from_raw(context.cast::<OpenContext>()) };
    lock().close(context.handle);
    drop(context.device);
    0
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_query_device(
    context: *mut ibv_context,
    into: *mut ibv_device_attr,
) -> c_int {
    // SAFETY: X1.
    let handle = unsafe { handle_of(context) };
    let state = lock();
    let described = state.device_of(handle).map(|device| {
        let config = &state.devices[device].config;
        let limits = &config.limits;
        ibv_device_attr {
            node_guid: guid(device),
            sys_image_guid: guid(device),
            max_mr_size: u64::MAX,
            page_size_cap: 4096,
            max_qp: limits.max_qp as c_int,
            max_qp_wr: limits.max_qp_wr as c_int,
            max_sge: limits.max_sge as c_int,
            max_sge_rd: limits.max_sge as c_int,
            max_cq: limits.max_cq as c_int,
            max_cqe: limits.max_cqe as c_int,
            max_mr: limits.max_mr as c_int,
            max_pd: limits.max_pd as c_int,
            max_qp_rd_atom: limits.max_rd_atomic.into(),
            max_qp_init_rd_atom: limits.max_rd_atomic.into(),
            max_pkeys: 1,
            phys_port_cnt: config.ports.len() as u8,
            ..ibv_device_attr::default()
        }
    });
    // SAFETY: X1.
    status(described.map(|described| unsafe { into.write(described) }))
}

fn with_port<R>(context: u32, port: u32, of: impl FnOnce(&PortConfig) -> R) -> Result<R, c_int> {
    let state = lock();
    let device = state.device_of(context)?;
    let index = (port as usize).checked_sub(1).ok_or(EINVAL)?;
    state.devices[device].config.ports.get(index).map(of).ok_or(EINVAL)
}

/// Its last field is missing in the structure of old programs, and is not written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_query_port(
    context: *mut ibv_context,
    port: u8,
    into: *mut ibv_port_attr,
) -> c_int {
    // SAFETY: X1.
    let handle = unsafe { handle_of(context) };
    let described = with_port(handle, port.into(), describe);
    let bytes = std::mem::offset_of!(ibv_port_attr, port_cap_flags2);
    let write = |described: ibv_port_attr| {
        let from = (&raw const described).cast::<u8>();
        // SAFETY: X1: there is room up to that field.
        unsafe { into.cast::<u8>().copy_from_nonoverlapping(from, bytes) }
    };
    status(described.map(write))
}

fn describe(port: &PortConfig) -> ibv_port_attr {
    let is_infiniband = port.link_layer == IBV_LINK_LAYER_INFINIBAND;
    ibv_port_attr {
        state: if port.active { IBV_PORT_ACTIVE } else { IBV_PORT_DOWN },
        max_mtu: IBV_MTU_4096,
        active_mtu: port.active_mtu,
        gid_tbl_len: port.gids.keys().last().map_or(1, |last| *last as c_int + 1),
        max_msg_sz: port.max_message,
        pkey_tbl_len: 1,
        lid: port.lid,
        sm_lid: u16::from(is_infiniband),
        // 5: the link is up; 3: it is disabled.
        phys_state: if port.active { 5 } else { 3 },
        link_layer: port.link_layer,
        ..ibv_port_attr::default()
    }
}

/// A gap in the table is a GID of zeros.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_query_gid(
    context: *mut ibv_context,
    port: u8,
    index: c_int,
    into: *mut ibv_gid,
) -> c_int {
    // SAFETY: X1.
    let handle = unsafe { handle_of(context) };
    let found = with_port(handle, port.into(), |port| {
        let found = u32::try_from(index).ok().and_then(|index| port.gids.get(&index));
        ibv_gid { raw: found.map_or([0; 16], |found| found.gid) }
    });
    match found {
        Ok(found) => {
            // SAFETY: X1.
            unsafe { into.write(found) };
            0
        }
        Err(error) => {
            set_errno(error);
            -1
        }
    }
}

/// Returns the number of entries, or a negative error; an error, too, if there is no room for all of them.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn _ibv_query_gid_table(
    context: *mut ibv_context,
    into: *mut ibv_gid_entry,
    room: usize,
    flags: u32,
    entry_size: usize,
) -> isize {
    // SAFETY: X1.
    let handle = unsafe { handle_of(context) };
    let entries = gid_table(handle);
    match entries {
        Err(error) => -(error as isize),
        Ok(entries) if entries.len() > room || flags != 0 || entry_size != size_of::<ibv_gid_entry>() => {
            -(EINVAL as isize)
        }
        Ok(entries) => {
            // SAFETY: X1: there is room for `room` of them.
            unsafe { into.copy_from_nonoverlapping(entries.as_ptr(), entries.len()) };
            entries.len() as isize
        }
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn _ibv_query_gid_ex(
    context: *mut ibv_context,
    port: u32,
    index: u32,
    into: *mut ibv_gid_entry,
    flags: u32,
    entry_size: usize,
) -> c_int {
    // SAFETY: X1.
    let handle = unsafe { handle_of(context) };
    let found = gid_table(handle).and_then(|entries| {
        let is_it = |entry: &&ibv_gid_entry| entry.port_num == port && entry.gid_index == index;
        entries.iter().find(is_it).copied().ok_or(ENODATA)
    });
    match found {
        Err(error) => error,
        Ok(_) if flags != 0 || entry_size != size_of::<ibv_gid_entry>() => EINVAL,
        Ok(entry) => {
            // SAFETY: X1.
            unsafe { into.write(entry) };
            0
        }
    }
}

/// The GIDs of all ports of a device.
fn gid_table(context: u32) -> Result<Vec<ibv_gid_entry>, c_int> {
    let state = lock();
    let device = state.contexts.get(&context).ok_or(EIO)?.device;
    let ports = (1..).zip(&state.devices[device].config.ports);
    let entries = ports.flat_map(|(port_num, port)| {
        port.gids.iter().map(move |(index, gid)| ibv_gid_entry {
            gid: ibv_gid { raw: gid.gid },
            gid_index: *index,
            port_num,
            gid_type: gid.kind,
            ndev_ifindex: 0,
        })
    });
    Ok(entries.collect())
}
