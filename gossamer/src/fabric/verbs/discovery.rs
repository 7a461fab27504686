//! What the crate `ibverbs` reports about devices: their names, and the GIDs of those with one port.
//!
//! It opens a device once more, for a moment. It has room only for the GIDs of the first port, which has to be active.

use crate::fabric::verbs::abi::{Verbs, symbols, types::ibv_device};
use crate::fabric::verbs::choice::port::{GidEntry, PortDescription};
use std::io;

/// Whether it can report the GIDs of a device with these ports.
pub(super) fn knows(ports: &[PortDescription]) -> bool {
    matches!(ports, [port] if port.is_active())
}

/// The name of a device of a list.
pub(super) fn name(verbs: &Verbs, device: *mut ibv_device) -> String {
    let device = device.cast();
    let name = symbols::with(verbs, || ibverbs::Device::from(&device).name());
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The GIDs of a device that has one port (`knows`).
///
/// # Errors
/// The device cannot be opened once more.
pub(super) fn gids(verbs: &Verbs, device: *mut ibv_device) -> io::Result<Vec<GidEntry>> {
    let device = device.cast();
    symbols::with(verbs, || {
        let context = ibverbs::Device::from(&device).open()?;
        let entry = |entry: &ibverbs::GidEntry| {
            let gid = u128::from(entry.gid.subnet_prefix()) << 64 | u128::from(entry.gid.interface_id());
            GidEntry { index: entry.gid_index, kind: entry.gid_type, gid: gid.to_be_bytes().into() }
        };
        Ok(context.gid_table().iter().map(entry).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::verbs::abi::types::IBV_PORT_DOWN;
    use crate::fabric::verbs::context::DeviceList;
    use std::process::Command;

    #[test]
    fn the_crate_tells_the_devices_and_gids_that_the_library_does() {
        let verbs = Verbs::of_tests();
        let list = DeviceList::of(verbs).unwrap();
        let device = list.open(0).unwrap();
        symbols::with(verbs, || {
            let devices = ibverbs::devices().unwrap();
            let names = devices.iter().map(|device| device.name().unwrap().to_str().unwrap().to_owned());
            assert_eq!(names.collect::<Vec<_>>(), list.names());
        });
        let ports = device.ports().unwrap();
        assert!(knows(&ports));
        let gids: Vec<_> = device.gid_table(16).unwrap().into_iter().map(|(_, gid)| gid).collect();
        assert_eq!(ports[0].gids, gids);
        assert_eq!(gids.len(), 4);
    }

    #[test]
    fn gids_of_a_port_that_is_not_active_or_not_alone_are_not_asked_for() {
        let ports = DeviceList::of(Verbs::of_tests()).unwrap().open(0).unwrap().ports().unwrap();
        let down = PortDescription { state: IBV_PORT_DOWN, ..ports[0].clone() };
        let both = [ports[0].clone(), down];
        assert!(knows(&both[..1]) && !knows(&both[1..]) && !knows(&both) && !knows(&[]));
    }

    #[test]
    fn a_program_with_the_crate_does_not_need_the_library_to_start() {
        let program = std::env::current_exe().unwrap();
        let told = Command::new("readelf").arg("-d").arg(program).output().expect("readelf, of binutils");
        let told = String::from_utf8(told.stdout).unwrap();
        assert!(told.contains("(NEEDED)") && !told.contains("ibverbs"), "{told}");
    }
}
