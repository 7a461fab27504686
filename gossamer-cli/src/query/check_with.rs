//! `gossamer check-rdma --with HOST`: a queue pair to another machine, whose daemon has the other end.

use crate::exit::{FAILED, Failure, UNREACHABLE};
use crate::query::rdma::{pair_json, pair_text, trouble_text};
use crate::rack::config::Rack;
use crate::rack::connect::Connection;
use crate::rack::protocol::{RdmaReply, RdmaStep, Reply, Request};
use crate::rack::rdma::Variables;
use crate::secure::codec::decode;
use crate::secure::key::Key;
use gossamer::rack::rdma::{CheckParameters, MachineReport, PairReport, RdmaCheck, RdmaSettings, RoundTrips};
use serde_json::{Value, json};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// How long a step may take at either side: somewhat longer than a daemon allows it.
const STEP: Duration = Duration::from_secs(15);
/// How messages refer to this machine.
const HERE: &str = "this machine";

/// What was measured between two ports.
#[derive(Debug)]
pub struct Measured {
    ports: PairReport,
    round_trips: RoundTrips,
    /// Bytes per second to the other machine, and from it.
    rates: [u64; 2],
}

impl Measured {
    /// Lines for the user.
    #[must_use]
    pub fn text(&self, with: &str) -> String {
        let RoundTrips { count, median, percentile_99 } = self.round_trips;
        let microseconds = |time: Duration| time.as_secs_f64() * 1e6;
        let [to, from] = self.rates.map(|rate| rate as f64 / 1e9);
        format!(
            "{HERE} and {with}, by {}\n  round trip of 8 bytes: median {:.1} us, 99th percentile {:.1} us ({count} round trips)\n  \
             writes of 64 KiB: to {with} {to:.2} GB/s, from {with} {from:.2} GB/s\n",
            pair_text(&self.ports),
            microseconds(median),
            microseconds(percentile_99),
        )
    }

    /// The same as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let microseconds = |time: Duration| time.as_secs_f64() * 1e6;
        let mut value = pair_json(&self.ports);
        value["round_trips"] = json!(self.round_trips.count);
        value["median_microseconds"] = json!(microseconds(self.round_trips.median));
        value["percentile_99_microseconds"] = json!(microseconds(self.round_trips.percentile_99));
        value["bytes_per_second_to"] = json!(self.rates[0]);
        value["bytes_per_second_from"] = json!(self.rates[1]);
        value
    }
}

/// The daemon that has the other end.
struct Other {
    name: String,
    connection: Connection,
}

/// Tries each pair of ports that nodes of both machines would use.
///
/// # Errors
/// The first thing that is wrong, and where.
pub async fn check(
    config: &Path,
    with: &str,
    own: &MachineReport,
    variables: &Variables,
    settings: &RdmaSettings,
) -> Result<Vec<Measured>, Failure> {
    let rack = Rack::read(config)?;
    let key = Key::read(&rack.key)?;
    let machines = rack.choose(&[with.to_owned()])?;
    if let Some(trouble) = own.rdma.trouble() {
        return Err(failed(trouble_text("on this machine", &trouble)));
    }
    let machine = machines.first().ok_or_else(|| failed("there is no such machine".into()))?;
    let connection = Connection::open(machine, &rack, &key).await?;
    let mut other = Other { name: with.to_owned(), connection };
    let theirs = other.begin(variables, own).await?;
    if let Some(trouble) = theirs.rdma.trouble() {
        return Err(failed(trouble_text(&format!("on {with}"), &trouble)));
    }
    let check = MachineReport::check([own, &theirs], [HERE, with], 0, settings);
    let mut check = check.map_err(|why| failed(format!("{HERE} and {with} have no way by RDMA: {why}")))?;
    let mut measured = Vec::new();
    for (pair, ports) in check.pairs().into_iter().enumerate() {
        let found = other.measure(check, pair).await;
        let (still, round_trips, rates) = found.map_err(|why| {
            failed(format!("RDMA between {HERE} and {with} does not work, by {}:\n{why}", pair_text(&ports)))
        })?;
        check = still;
        measured.push(Measured { ports, round_trips, rates });
    }
    Ok(measured)
}

fn failed(message: String) -> Failure {
    Failure::new(FAILED, message)
}

impl Other {
    /// Tells the other machine what this one has, and returns what that one has.
    async fn begin(&mut self, variables: &Variables, own: &MachineReport) -> Result<MachineReport, Failure> {
        let request = Request::CheckRdma { variables: variables.clone(), report: own.to_bytes() };
        let unreachable =
            |why| Failure::new(UNREACHABLE, format!("cannot check RDMA with {}: {why}", self.name));
        let reply = match self.connection.send(&request).await {
            Ok(()) => reply(&mut self.connection).await,
            Err(error) => Err(error.to_string()),
        };
        match reply.map_err(unreachable)? {
            Reply::Refused(why) => Err(unreachable(why)),
            Reply::Rdma(RdmaReply::Machine(report)) => {
                MachineReport::from_bytes(&report).map_err(unreachable)
            }
            _ => Err(unreachable(STRANGE.into())),
        }
    }

    /// Connects a queue pair, and measures.
    async fn measure(
        &mut self,
        mut check: RdmaCheck,
        pair: usize,
    ) -> Result<(RdmaCheck, RoundTrips, [u64; 2]), String> {
        let (check_back, parameters) = here(check, move |check| check.offer(pair)).await?;
        check = check_back;
        let parameters = parameters.map_err(at_home)?.to_bytes();
        let pair = u32::try_from(pair).unwrap_or(u32::MAX);
        self.say(RdmaStep::Connect { pair, parameters }).await?;
        let RdmaReply::Connected(theirs) = self.hear().await? else { return Err(self.at(STRANGE)) };
        let theirs = CheckParameters::from_bytes(&theirs).map_err(|why| self.at(&why))?;
        let (mut check, receiving) = here(check, move |check| check.receive(&theirs)).await?;
        receiving.map_err(at_home)?;
        (check, _) = self.both(check, RdmaStep::Probe, RdmaCheck::probe).await?;
        let (check, round_trips) = self.both(check, RdmaStep::Answer, RdmaCheck::round_trips).await?;
        let (check, to) = here(check, RdmaCheck::rate).await?;
        let to = to.map_err(at_home)?;
        self.say(RdmaStep::Write).await?;
        let RdmaReply::Rate(from) = self.hear().await? else { return Err(self.at(STRANGE)) };
        Ok((check, round_trips, [to, from]))
    }

    /// A step of both sides at once.
    async fn both<T: Send + 'static>(
        &mut self,
        check: RdmaCheck,
        theirs: RdmaStep,
        ours: impl FnOnce(&mut RdmaCheck) -> Result<T, String> + Send + 'static,
    ) -> Result<(RdmaCheck, T), String> {
        self.say(theirs).await?;
        let (check, done) = here(check, ours).await?;
        match (done, self.hear().await) {
            (Ok(done), Ok(_)) => Ok((check, done)),
            (Err(here), Err(there)) => Err(format!("{}\n{there}", at_home(here))),
            (Err(here), Ok(_)) => Err(at_home(here)),
            (Ok(_), Err(there)) => Err(there),
        }
    }

    async fn say(&mut self, step: RdmaStep) -> Result<(), String> {
        let said = self.connection.send(&Request::RdmaStep(step)).await;
        said.map_err(|error| self.at(&error.to_string()))
    }

    async fn hear(&mut self) -> Result<RdmaReply, String> {
        match reply(&mut self.connection).await {
            Ok(Reply::Rdma(RdmaReply::Failed(why)) | Reply::Refused(why)) | Err(why) => Err(self.at(&why)),
            Ok(Reply::Rdma(reply)) => Ok(reply),
            Ok(_) => Err(self.at(STRANGE)),
        }
    }

    fn at(&self, why: &str) -> String {
        format!("  on {}: {why}", self.name)
    }
}

const STRANGE: &str = "its daemon does not keep to the protocol";

fn at_home(why: String) -> String {
    format!("  here: {why}")
}

/// A step of this side, in a thread of its own.
async fn here<T: Send + 'static>(
    mut check: RdmaCheck,
    step: impl FnOnce(&mut RdmaCheck) -> T + Send + 'static,
) -> Result<(RdmaCheck, T), String> {
    let done = spawn_blocking(move || {
        let done = step(&mut check);
        (check, done)
    });
    match timeout(STEP, done).await {
        Ok(done) => done.map_err(|error| at_home(error.to_string())),
        Err(_) => Err(at_home(format!("the RDMA device did not answer in {} s (dmesg)", STEP.as_secs()))),
    }
}

/// The next answer of a daemon.
async fn reply(connection: &mut Connection) -> Result<Reply, String> {
    let received = async {
        let message = connection.reader.receive().await?;
        decode(&message.ok_or_else(|| io::Error::from(ErrorKind::UnexpectedEof))?)
    };
    match timeout(STEP, received).await {
        Ok(Ok(reply)) => Ok(reply),
        Ok(Err(error)) if error.kind() == ErrorKind::UnexpectedEof => Err("its daemon has ended".into()),
        Ok(Err(error)) => Err(format!("its daemon is lost: {error}")),
        Err(_) => Err(format!("its daemon is silent for {} s", STEP.as_secs())),
    }
}
