//! The answers to all requests but launches and checks of RDMA.

use crate::daemon::state::Daemon;
use crate::rack::protocol::{Health, Reply, Request, Status};
use std::fs;

impl Daemon {
    /// Whether the daemon is ending.
    pub fn stopping_now(&self) -> bool {
        *self.stopping.borrow()
    }

    /// The reply to a request.
    pub async fn answer(&self, request: Request) -> Reply {
        match request {
            Request::Status(variables) => {
                let rdma = self.rdma.report(variables).await.map(|report| report.to_bytes());
                Reply::Status(self.status(rdma))
            }
            Request::Health => Reply::Health(self.health()),
            Request::List { ended } => Reply::List(self.registry.list(ended)),
            Request::Kill { application, by } => Reply::Killed(self.registry.kill(&application, &by)),
            Request::Logs { application } => Reply::Logs(self.registry.logs(&application)),
            Request::Launch(_)
            | Request::Binary(_)
            | Request::Start { .. }
            | Request::Command(_)
            | Request::Heartbeat => Reply::Refused("this request belongs to a launch".into()),
            Request::CheckRdma { .. } | Request::RdmaStep(_) => {
                Reply::Refused("this request belongs to a check of RDMA".into())
            }
            Request::Inspect { .. } | Request::Examine(_) => {
                Reply::Refused("this request has more than one answer".into())
            }
        }
    }

    fn health(&self) -> Health {
        let (applications, nodes) = self.registry.running();
        Health { up_seconds: self.started.elapsed().as_secs(), applications, nodes }
    }

    fn status(&self, rdma: Result<Vec<u8>, String>) -> Status {
        let (applications, nodes) = self.registry.running();
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load: f64 = load.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Status {
            up_seconds: self.started.elapsed().as_secs(),
            processors: u32::try_from(processors).unwrap_or(u32::MAX),
            load_hundredths: (load * 100.0) as u64,
            memory: memory(&fs::read_to_string("/proc/meminfo").unwrap_or_default()),
            applications: u32::try_from(applications).unwrap_or(u32::MAX),
            nodes: u32::try_from(nodes).unwrap_or(u32::MAX),
            cache: self.cache.room(),
            machines: self
                .rack
                .machines()
                .into_iter()
                .map(|machine| (machine.name, machine.address))
                .collect(),
            rdma,
        }
    }
}

/// Memory, and memory that is available, in bytes.
fn memory(text: &str) -> (u64, u64) {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let kibibytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kibibytes.unwrap_or(0) << 10
    };
    (field("MemTotal:"), field("MemAvailable:"))
}
