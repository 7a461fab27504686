//! Async code on an executor that is not Gossamer's: its tasks await the answers of trustees.
//!
//! The executor is tokio's for one thread, on a thread of the pool; any other will do. `cargo run --release -p examples --bin async_executor`

use gossamer::Trust;
use std::io;

/// Awaits two answers at once, and then a third that depends on them.
#[gossamer::delegate]
async fn add_up(one: Trust<u64>, other: Trust<u64>, sum: Trust<u64>) -> u64 {
    let (one, other) = (one.apply_async(|number| *number), other.apply_async(|number| *number));
    let (one, other) = (one.await, other.await);
    sum.apply_async(|sum| {
        *sum += one + other;
        *sum
    })
    .await
}

#[gossamer::main]
fn main() -> io::Result<()> {
    let [one, other, sum] = [30_u64, 12, 0].map(gossamer::entrust);
    let task = move || {
        let executor = tokio::runtime::Builder::new_current_thread().build()?;
        Ok(executor.block_on(add_up(one, other, sum)))
    };
    println!("{}", gossamer::unblock(task).map_err(|error: io::Error| error)?);
    Ok(())
}
