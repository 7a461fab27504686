//! Remote procedure calls with the libraries that Rust programs use for them: as many tasks as the setting says, each
//! awaiting its answer. Both ends run on one thread.

mod tarpc;
mod tonic;

pub use self::tarpc::tarpc;
pub use self::tonic::tonic;

use crate::latency::Stopwatch;
use crate::measure::METER;
use std::fmt::Display;
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::task::JoinSet;

/// Runs one end of the connection. Panics if it fails.
fn run(end: impl Future<Output = Result<(), Box<dyn std::error::Error>>>) {
    let runtime = Builder::new_current_thread().enable_all().build();
    let outcome = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(end));
    if let Err(error) = outcome {
        panic!("a remote call: {error}");
    }
}

/// The socket in the hands of the runtime.
fn socket(socket: &std::net::TcpStream) -> std::io::Result<TcpStream> {
    socket.set_nonblocking(true)?;
    TcpStream::from_std(socket.try_clone()?)
}

/// Calls until the meter stops, in each of this many tasks.
async fn call<C, F, R, E>(tasks: usize, client: C, once: fn(C) -> F)
where
    C: Clone + Send + 'static,
    F: Future<Output = Result<R, E>> + Send + 'static,
    R: Send + 'static,
    E: Display + Send + 'static,
{
    let mut started = JoinSet::new();
    for _ in 0..tasks {
        let client = client.clone();
        started.spawn(async move {
            let mut stopwatch = (tasks == 1).then(Stopwatch::default);
            while !METER.stopped() {
                let outcome = match &mut stopwatch {
                    Some(stopwatch) => stopwatch.time_async(once(client.clone())).await,
                    None => once(client.clone()).await,
                };
                if let Err(error) = outcome {
                    panic!("a remote call: {error}");
                }
                METER.add(0, 1);
            }
            if let Some(stopwatch) = stopwatch {
                stopwatch.finish();
            }
        });
    }
    while started.join_next().await.is_some() {}
}
