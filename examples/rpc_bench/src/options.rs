//! The command line.

use clap::Parser;
use gossamer::Config;

/// Bytes that a request may capture.
pub const BYTES: [usize; 8] = [0, 8, 16, 32, 64, 128, 256, 1024];
/// Fibers of a client worker, at most: each has a stack.
const MOST_FIBERS: usize = 100_000;
/// Requests of a client worker that are under way, at most: they take memory.
const MOST_UNDER_WAY: usize = 1_000_000;
/// A day.
const MOST_MILLIS: u64 = 24 * 60 * 60 * 1000;

/// Throughput and latency of small requests under rising load: closed loops of more and more fibers, then an open loop at more and more
/// of the rate that these have reached.
///
/// Clients are fibers on workers, and servers properties on others (or on the same, if there is only one). A request adds to a
/// number, and captures some bytes. Start it with `gossamer run --local 2 -- rpc_bench` to have lanes between processes; GOSSAMER_FABRIC
/// (shm, tcp) says which.
#[derive(Parser, Clone)]
#[command(version)]
pub struct Options {
    /// Fibers of each client worker in closed loops, 100,000 at most
    #[arg(long, value_delimiter = ',', default_values_t = [1, 4, 16, 64, 256])]
    pub fibers: Vec<usize>,
    /// Requests that a fiber sends before it waits for all of them; of all fibers of a worker, 1,000,000 at most
    #[arg(long, value_delimiter = ',', default_values_t = [1])]
    pub batch: Vec<usize>,
    /// Bytes that a request captures: 0, 8, 16, 32, 64, 128, 256 or 1024
    #[arg(long, value_delimiter = ',', default_values_t = [8])]
    pub bytes: Vec<usize>,
    /// Load of the open loop, in hundredths of the highest rate of the closed loops
    #[arg(long, value_delimiter = ',', default_values_t = [10, 30, 50, 70, 90, 110])]
    pub load: Vec<u32>,
    /// Rates of the open loop instead, in requests a second of all clients together
    #[arg(long, value_delimiter = ',', conflicts_with = "load")]
    pub rate: Vec<u64>,
    /// How many of the workers serve; the others are clients [default: half]
    #[arg(long)]
    pub servers: Option<usize>,
    /// Milliseconds of each measurement, after a tenth of that to warm up
    #[arg(long, default_value_t = 1000)]
    pub millis: u64,
    /// Print an object of JSON for each measurement, one to a line
    #[arg(long)]
    pub json: bool,
    /// Workers of each node [default: one for each processor]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

impl Options {
    pub fn config(&self) -> Config {
        self.threads.map_or_else(Config::default, |threads| Config::default().threads(threads.into()))
    }

    /// What is wrong with the options, if anything is.
    pub fn check(&self, workers: usize) -> Result<(), String> {
        if let Some(bytes) = self.bytes.iter().find(|bytes| !BYTES.contains(bytes)) {
            return Err(format!("--bytes {bytes}: a request captures one of {BYTES:?}"));
        }
        for (name, numbers) in [("--fibers", &self.fibers), ("--batch", &self.batch)] {
            if numbers.contains(&0) {
                return Err(format!("{name} 0: at least 1"));
            }
        }
        let (fibers, batch) = (most(&self.fibers), most(&self.batch));
        if fibers > MOST_FIBERS {
            return Err(format!("--fibers {fibers}: at most {MOST_FIBERS}"));
        }
        if batch > MOST_UNDER_WAY / fibers.max(1) {
            return Err(format!(
                "--batch {batch}: at most {}, since {fibers} fibers of a worker send {MOST_UNDER_WAY} requests at most",
                MOST_UNDER_WAY / fibers.max(1)
            ));
        }
        if self.millis > MOST_MILLIS {
            return Err(format!("--millis {}: at most {MOST_MILLIS}, which is a day", self.millis));
        }
        if self.load.contains(&0) || self.rate.contains(&0) || self.millis == 0 {
            return Err("a load, a rate, or a time of 0 measures nothing".to_owned());
        }
        match self.servers {
            Some(0) => Err("--servers 0: nobody would serve".to_owned()),
            Some(servers) if servers > workers => {
                Err(format!("--servers {servers}: there are {workers} workers on all nodes"))
            }
            _ => Ok(()),
        }
    }
}

fn most(numbers: &[usize]) -> usize {
    numbers.iter().copied().max().unwrap_or(0)
}
