//! Settings of RDMA, and reports of machines, on their way between a client and daemons.

use crate::exit::{Failure, USAGE};
use gossamer::rack::rdma::{MachineReport, RdmaSettings, SETTINGS};

/// Variables for RDMA, by name, with their values: those of the client, since applications that it launches have them,
/// too.
pub type Variables = Vec<(String, String)>;

/// Those of this process.
#[must_use]
pub fn own_variables() -> Variables {
    let all = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    all.filter(|(name, _)| name.starts_with(SETTINGS))
        .map(|(name, value)| (name, value.to_string_lossy().into_owned()))
        .collect()
}

/// What they say.
///
/// # Errors
/// One has a value that it cannot have.
pub fn settings(variables: &Variables) -> Result<RdmaSettings, Failure> {
    let value =
        |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    RdmaSettings::find(&value).map_err(|why| Failure::new(USAGE, why))
}

/// What a machine says about itself.
///
/// # Errors
/// It says nothing: why.
pub fn understood(report: &Result<Vec<u8>, String>) -> Result<MachineReport, String> {
    MachineReport::from_bytes(report.as_ref().map_err(String::clone)?)
}
