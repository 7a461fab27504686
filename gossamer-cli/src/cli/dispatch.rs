//! Starts what the command line says, and ends the process with its status.

use crate::cli::arguments::{
    Action, ApplicationArguments, Arguments, CheckRdmaArguments, DaemonArguments, PsArguments,
    QueryArguments, RunArguments, StatusArguments,
};
use crate::cli::{completions, manual};
use crate::exit::{self, Failure};
use crate::launcher::{local, remote};
use crate::node::guardian::process as guardian;
use crate::query::{applications, check_rdma, doctor, health, logs, stacks, status, top};
use crate::secure::key;
use crate::terminal::printable::printable;
use crate::{daemon, files};
use clap::{CommandFactory, Parser};
use std::future::Future;
use std::io::{self, Write};
use std::path::Path;

/// Does what the command line says, and ends the process.
pub fn main() -> ! {
    if guardian::is_called() {
        guardian::main();
    }
    let result = act(Arguments::parse().command);
    let status = result.unwrap_or_else(|failure| {
        // There is nobody else to tell if that fails.
        let _ = writeln!(std::io::stderr(), "gossamer: {}", printable(&failure.message));
        failure.status
    });
    // Threads that wait for input or output are left where they are.
    std::process::exit(status.into())
}

fn act(command: Action) -> Result<u8, Failure> {
    match command {
        Action::Run(run) => block_on(launch(run)),
        Action::Daemon(DaemonArguments { config, log, metrics }) => {
            block_on(daemon::listen::run(&config.config, log, metrics))
        }
        Action::Ps(PsArguments { all, query: QueryArguments { config, json } }) => {
            block_on(applications::list(&config.config, all, json))
        }
        Action::Status(StatusArguments { health, query: QueryArguments { config, json } }) => match health {
            true => block_on(health::health(&config.config, json)),
            false => block_on(status::status(&config.config, json)),
        },
        Action::Kill(ApplicationArguments { id, query: QueryArguments { config, json } }) => {
            block_on(applications::kill(&config.config, &id, json))
        }
        Action::Logs(ApplicationArguments { id, query: QueryArguments { config, json } }) => {
            block_on(logs::logs(&config.config, &id, json))
        }
        Action::CheckRdma(CheckRdmaArguments { with, query: QueryArguments { config, json } }) => {
            block_on(check_rdma::check(&config.config, with.as_deref(), json))
        }
        Action::Top(arguments) => top::top(&arguments),
        Action::Stacks(arguments) => stacks::stacks(&arguments),
        Action::Doctor(arguments) => match arguments.rack() {
            Some(config) => block_on(doctor::rack::examine(&arguments, config)),
            None => doctor::examine(&arguments),
        },
        Action::Send(send) => files::sender::run::run(&send),
        Action::Recv(recv) => files::receiver::run::run(&recv),
        Action::Keygen { file, json } => keygen(&file, json),
        Action::Completions { shell } => print(&completions::script(shell, Arguments::command())),
        Action::Man { directory } => write_manual(directory.as_deref()),
    }
}

async fn launch(run: RunArguments) -> Result<u8, Failure> {
    let (mapping, options) = (run.mapping(), run.options());
    let RunArguments { local, nodes, hosts, config, metrics, .. } = run;
    match local {
        Some(nodes) => local::run(local::LocalRun { nodes, metrics, options }).await,
        None => {
            let config = config.config;
            remote::run(remote::RemoteRun { config, nodes, mapping, hosts, options }).await
        }
    }
}

fn print(text: &[u8]) -> Result<u8, Failure> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text).and_then(|()| out.flush());
    written.map(|()| 0).map_err(|error| Failure::new(exit::OUTPUT, format!("cannot write: {error}")))
}

fn write_manual(directory: Option<&Path>) -> Result<u8, Failure> {
    let (written, to) = match directory {
        Some(directory) => {
            (manual::write(Arguments::command(), directory), format!(" to {}", directory.display()))
        }
        None => match manual::page(Arguments::command()) {
            Ok(page) => return print(&page),
            Err(error) => (Err(error), String::new()),
        },
    };
    let advice = |error: &io::Error| match error.kind() {
        io::ErrorKind::NotFound => "; make that directory first (mkdir -p)",
        _ => "",
    };
    written
        .map(|()| 0)
        .map_err(|error| Failure::new(exit::OUTPUT, format!("cannot write{to}: {error}{}", advice(&error))))
}

fn keygen(file: &Path, json: bool) -> Result<u8, Failure> {
    key::generate(file)?;
    let text = match json {
        true => serde_json::json!({ "file": file }).to_string(),
        false => {
            format!("wrote {}; copy it to every machine of the rack, and to nobody else", file.display())
        }
    };
    print(format!("{text}\n").as_bytes())
}

fn block_on(work: impl Future<Output = Result<u8, Failure>>) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(exit::UNREACHABLE, format!("cannot start: {error}")))?;
    let result = runtime.block_on(work);
    runtime.shutdown_background();
    result
}
