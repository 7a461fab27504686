//! Asks the daemons of all machines at once.

use crate::exit::{FAILED, Failure, UNREACHABLE};
use crate::query::output::complain;
use crate::rack::config::{Machine, Rack};
use crate::rack::connect::Connection;
use crate::rack::protocol::{InspectedNode, Inspection, Reply, Request};
use crate::rack::silence::within;
use crate::secure::codec::decode;
use crate::secure::key::Key;
use std::future::Future;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The answer of one machine, and how long it took.
#[derive(Debug)]
pub struct MachineAnswer<T = Reply> {
    /// The machine.
    pub machine: Machine,
    /// The version of its daemon, if it was reached.
    pub version: String,
    /// How long it took.
    pub seconds: f64,
    /// Its answer, or why there is none.
    pub reply: Result<T, Failure>,
}

/// Asks the daemon of one machine.
pub async fn ask(machine: Machine, rack: Rack, key: Key, request: Request) -> MachineAnswer {
    talk(machine, rack, key, async |connection| exchange(connection, &request).await).await
}

/// Talks with the daemon of one machine.
async fn talk<T, F>(
    machine: Machine,
    rack: Rack,
    key: Key,
    exchange: impl FnOnce(Connection) -> F,
) -> MachineAnswer<T>
where
    F: Future<Output = Result<T, String>>,
{
    let begin = Instant::now();
    let (version, reply) = match Connection::open(&machine, &rack, &key).await {
        Ok(connection) => {
            let version = connection.hello.version.clone();
            let failure =
                |what| Failure::new(UNREACHABLE, format!("{} gives no answer: {what}", machine.name));
            (version, exchange(connection).await.map_err(failure))
        }
        Err(failure) => (String::new(), Err(failure)),
    };
    MachineAnswer { seconds: begin.elapsed().as_secs_f64(), machine, version, reply }
}

/// Sends a request, and waits for the reply.
async fn exchange(mut connection: Connection, request: &Request) -> Result<Reply, String> {
    sent(&mut connection, request).await?;
    next(&mut connection, PATIENCE).await
}

/// Sends a request.
pub(crate) async fn sent(connection: &mut Connection, request: &Request) -> Result<(), String> {
    heard(PATIENCE, async { connection.send(request).await }).await
}

/// The next reply.
pub(crate) async fn next(connection: &mut Connection, patience: Duration) -> Result<Reply, String> {
    let reply = async {
        let reply = connection.reader.receive().await?;
        decode(&reply.ok_or(io::ErrorKind::UnexpectedEof)?)
    };
    heard(patience, reply).await
}

async fn heard<T>(patience: Duration, what: impl Future<Output = io::Result<T>>) -> Result<T, String> {
    match within(patience, what).await {
        Some(heard) => heard.map_err(|error| error.to_string()),
        None => Err(format!("it is silent for {} s", patience.as_secs())),
    }
}

/// Makes a daemon ask its nodes, and waits for all answers.
async fn inspect(
    mut connection: Connection,
    application: Option<String>,
    inspection: Inspection,
) -> Result<Vec<InspectedNode>, String> {
    let request = Request::Inspect { application, inspection };
    sent(&mut connection, &request).await?;
    let mut nodes = Vec::new();
    loop {
        // Some may have to wait until others have been asked.
        match next(&mut connection, 2 * (PATIENCE + inspection.time())).await? {
            Reply::Inspected(node) => nodes.push(node),
            Reply::InspectionOver => return Ok(nodes),
            _ => return Err("it does not keep to the protocol".into()),
        }
    }
}

/// Asks all machines at once; the answers are in the order of the configuration.
///
/// # Errors
/// If the configuration is wrong.
pub async fn ask_all(config: &Path, request: Request) -> Result<Vec<MachineAnswer>, Failure> {
    talk_to_all(config, move |connection| {
        let request = request.clone();
        async move { exchange(connection, &request).await }
    })
    .await
}

/// Makes all daemons ask the nodes that they have started, of one application or of all.
///
/// # Errors
/// If the configuration is wrong.
pub async fn inspect_all(
    config: &Path,
    application: Option<&str>,
    inspection: Inspection,
) -> Result<Vec<MachineAnswer<Vec<InspectedNode>>>, Failure> {
    let application = application.map(str::to_owned);
    talk_to_all(config, move |connection| inspect(connection, application.clone(), inspection)).await
}

/// Exchanges messages with the daemons of all machines at once.
///
/// # Errors
/// If the configuration is wrong.
pub(crate) async fn talk_to_all<T: Send + 'static, F>(
    config: &Path,
    exchange: impl Fn(Connection) -> F + Clone + Send + 'static,
) -> Result<Vec<MachineAnswer<T>>, Failure>
where
    F: Future<Output = Result<T, String>> + Send + 'static,
{
    let rack = Rack::read(config)?;
    let key = Key::read(&rack.key)?;
    let machines = rack.choose(&[])?.into_iter();
    let asked: Vec<_> = machines
        .map(|machine| tokio::spawn(talk(machine, rack.clone(), key.clone(), exchange.clone())))
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
/// If no machine answered.
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

/// The message that no machine knows an application.
#[must_use]
pub fn no_such(application: &str) -> Failure {
    Failure::new(
        FAILED,
        format!("there is no application {application}; `gossamer ps --all` lists those that are known"),
    )
}
