//! The RDMA that this node has to offer.

use crate::fabric::verbs::availability::Unavailable;
use crate::fabric::verbs::choice::offer::{PortOffer, offers};
use crate::fabric::verbs::choice::settings::VerbsSettings;
use crate::fabric::verbs::context::{DeviceContext, DeviceList};
use std::io;
use std::sync::Arc;

/// The ports that this node offers, their opened devices, and how they are used.
pub(crate) struct Survey {
    pub(crate) settings: VerbsSettings,
    pub(crate) devices: Vec<Arc<DeviceContext>>,
    pub(crate) offers: Vec<PortOffer>,
}

/// Looks at all devices of this machine.
///
/// # Errors
/// There is no library or no device, none can be used, or what was asked for is missing.
pub(crate) fn survey_machine(settings: &VerbsSettings) -> Result<Survey, Unavailable> {
    survey(&DeviceList::get()?, settings)
}

/// Looks at all devices of a list.
///
/// # Errors
/// None can be used, or what was asked for is missing.
pub(crate) fn survey(list: &DeviceList, settings: &VerbsSettings) -> Result<Survey, Unavailable> {
    let (mut devices, mut ports, mut first) = (Vec::new(), Vec::new(), None);
    for (index, name) in list.names().into_iter().enumerate() {
        let gone = |error: io::Error| Unavailable::Opening { device: name.clone(), error: error.to_string() };
        let found = list.open(index).and_then(|device| Ok((device.ports().map_err(gone)?, device)));
        match found {
            Ok((of_device, device)) => {
                ports.extend(of_device);
                devices.push(device);
            }
            Err(why) if settings.ports.iter().any(|asked| asked.device == name) => return Err(why),
            Err(why) => first = first.or(Some(why)),
        }
    }
    if let (true, Some(why)) = (devices.is_empty(), first) {
        return Err(why);
    }
    let offers = offers(&ports, settings)?;
    devices.retain(|device| offers.iter().any(|offer| offer.device == device.name()));
    Ok(Survey { settings: settings.clone(), devices, offers })
}
