//! `gossamer daemon`: serves connections until it is told to stop.

use crate::daemon::events;
use crate::daemon::log::{self, LogFormat};
use crate::daemon::metrics;
use crate::daemon::service_manager::{self, Watchdog};
use crate::daemon::session;
use crate::daemon::state::Daemon;
use crate::exit::{Failure, UNREACHABLE};
use crate::node::guardian::handle::Containment;
use crate::node::resource_limits;
use crate::rack::config::Rack;
use crate::secure::gate::{self, Gate};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long sessions have to end when the daemon ends.
const SHUTDOWN: Duration = Duration::from_secs(7);

/// Runs until SIGTERM or SIGINT, and serves what its nodes count at an address, if one is given.
///
/// # Errors
/// If the configuration is wrong, or the daemon cannot listen.
pub async fn run(config: &Path, format: LogFormat, metrics: Option<SocketAddr>) -> Result<u8, Failure> {
    log::start(format)?;
    let rack = Rack::read(config)?;
    let (tell_stopping, stopping) = watch::channel(false);
    let daemon = Arc::new(Daemon::new(rack, stopping, metrics.is_some())?);
    resource_limits::raise_open_files();
    let cannot = |what: String| move |error| Failure::new(UNREACHABLE, format!("{what}: {error}"));
    let terminate = signal(SignalKind::terminate()).map_err(cannot("no signals".into()))?;
    let interrupt = signal(SignalKind::interrupt()).map_err(cannot("no signals".into()))?;
    let address = daemon.rack.listen().to_owned();
    let listener = TcpListener::bind(&address).await;
    let listener = listener.and_then(|listener| gate::widen(&listener).map(|()| listener));
    let listener = listener.map_err(cannot(format!("cannot listen on {address}")))?;
    if let Some(address) = metrics {
        metrics::serve(address, Arc::clone(&daemon.registry)).await?;
    }
    events::listening(&address);
    events::contained(&Containment::of_host().description());
    service_manager::ready(&address);
    let mut sessions = JoinSet::new();
    accept(&daemon, listener, &mut sessions, terminate, interrupt).await;
    service_manager::stopping();
    events::stopping(daemon.registry.running().0);
    tell_stopping.send_replace(true);
    let ended = async { while sessions.join_next().await.is_some() {} };
    if timeout(SHUTDOWN, ended).await.is_err() {
        events::hanging();
    }
    events::stopped();
    Ok(0)
}

/// Starts a session for each connection, until one of the signals comes.
async fn accept(
    daemon: &Arc<Daemon>,
    listener: TcpListener,
    sessions: &mut JoinSet<()>,
    mut terminate: Signal,
    mut interrupt: Signal,
) {
    let gate = Arc::new(Gate::default());
    let mut watchdog = Watchdog::of_service();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let daemon = Arc::clone(daemon);
                    gate.admit(sessions, |ticket| session::serve(daemon, stream, peer, ticket)).await;
                }
                Err(error) => {
                    daemon.refusals.unaccepted(&error);
                    // No file descriptor is left, say: waits until some are closed.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            Some(_) = sessions.join_next() => {}
            () = watchdog.next() => service_manager::alive(),
            _ = terminate.recv() => return,
            _ = interrupt.recv() => return,
        }
    }
}
