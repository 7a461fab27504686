//! Asks the daemons of all machines at once.

use crate::exit::{FAILED, Failure, UNREACHABLE};
use crate::query::output::complain;
use crate::rack::config::{Machine, Rack};
use crate::rack::connect::Connection;
use crate::rack::protocol::{Reply, Request};
use crate::rack::silence::within;
use crate::secure::codec::decode;
use crate::secure::key::Key;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What one machine says, and how long that took.
#[derive(Debug)]
pub struct MachineAnswer {
    /// Which one.
    pub machine: Machine,
    /// The version of its daemon, if it was reached.
    pub version: String,
    /// How long it took.
    pub seconds: f64,
    /// What it says, or why it says nothing.
    pub reply: Result<Reply, Failure>,
}

/// Asks the daemon of one machine.
pub async fn ask(machine: Machine, rack: Rack, key: Key, request: Request) -> MachineAnswer {
    let begin = Instant::now();
    let (version, reply) = match Connection::open(&machine, &rack, &key).await {
        Ok(connection) => {
            let version = connection.hello.version.clone();
            let failure =
                |what| Failure::new(UNREACHABLE, format!("{} gives no answer: {what}", machine.name));
            (version, exchange(connection, &request).await.map_err(failure))
        }
        Err(failure) => (String::new(), Err(failure)),
    };
    MachineAnswer { seconds: begin.elapsed().as_secs_f64(), machine, version, reply }
}

/// Sends a request, and waits for the reply.
async fn exchange(mut connection: Connection, request: &Request) -> Result<Reply, String> {
    let reply = async {
        connection.send(request).await?;
        connection.reader.receive().await?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    };
    match within(PATIENCE, reply).await {
        Some(reply) => reply.and_then(|reply| decode(&reply)).map_err(|error: io::Error| error.to_string()),
        None => Err(format!("it is silent for {} s", PATIENCE.as_secs())),
    }
}

/// Asks all machines at once; the answers are in the order of the configuration.
///
/// # Errors
/// If the configuration is wrong.
pub async fn ask_all(config: &Path, request: Request) -> Result<Vec<MachineAnswer>, Failure> {
    let rack = Rack::read(config)?;
    let key = Key::read(&rack.key)?;
    let machines = rack.choose(&[])?;
    let asked: Vec<_> = machines
        .into_iter()
        .map(|machine| tokio::spawn(ask(machine, rack.clone(), key.clone(), request.clone())))
        .collect();
    let mut answers = Vec::new();
    for answer in asked {
        answers.push(answer.await.map_err(|error| Failure::new(FAILED, error.to_string()))?);
    }
    Ok(answers)
}

/// The answers of the machines that gave one; the others are named on standard error.
///
/// # Errors
/// If no machine gave one.
pub fn those_reached(answers: Vec<MachineAnswer>) -> Result<Vec<(Machine, Reply)>, Failure> {
    let mut reached = Vec::new();
    let mut last = None;
    for MachineAnswer { machine, reply, .. } in answers {
        match reply {
            Ok(reply) => reached.push((machine, reply)),
            Err(failure) => {
                if let Some(Failure { message, .. }) = last.replace(failure) {
                    complain(&message);
                }
            }
        }
    }
    match last {
        Some(failure) if reached.is_empty() => Err(failure),
        Some(failure) => {
            complain(&failure.message);
            Ok(reached)
        }
        None => Ok(reached),
    }
}

/// That no machine knows an application.
#[must_use]
pub fn no_such(application: &str) -> Failure {
    Failure::new(FAILED, format!("there is no application {application}; `gossamer ps` lists those that run"))
}
