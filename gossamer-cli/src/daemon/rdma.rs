//! The RDMA devices of this machine: opened when a client asks, by one thread at a time. Devices that do not answer are
//! not waited for.

use crate::rack::rdma::{Variables, settings};
use gossamer::rack::rdma::MachineReport;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// How long to wait for others that look at the devices, and then for the devices.
const PATIENCE: Duration = Duration::from_secs(3);

/// Permits to use the devices. A thread that a device holds up keeps its permit, so that no more threads get stuck.
#[derive(Debug)]
pub struct RdmaDevices {
    looks: Arc<Semaphore>,
    checks: Arc<Semaphore>,
}

impl Default for RdmaDevices {
    fn default() -> Self {
        let one = || Arc::new(Semaphore::new(1));
        Self { looks: one(), checks: one() }
    }
}

impl RdmaDevices {
    /// The devices of this machine, as nodes with these variables would find them, or why they are not known.
    pub async fn report(&self, variables: Variables) -> Result<MachineReport, String> {
        let settings = settings(&variables).map_err(|failure| failure.message)?;
        let permit = match timeout(PATIENCE, Arc::clone(&self.looks).acquire_owned()).await {
            Ok(Ok(permit)) => permit,
            _ => return Err("others are looking at its RDMA devices, which takes time; try again".into()),
        };
        let look = spawn_blocking(move || {
            let _permit = permit;
            MachineReport::of_this_machine(&settings)
        });
        match timeout(PATIENCE, look).await {
            Ok(report) => report.map_err(|error| error.to_string()),
            Err(_) => Err(format!(
                "its RDMA devices did not answer in {} s; the kernel may say why (dmesg)",
                PATIENCE.as_secs()
            )),
        }
    }

    /// As long as this permit lives, its holder may check RDMA, and nobody else may.
    pub fn check(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.checks).try_acquire_owned().ok()
    }
}
