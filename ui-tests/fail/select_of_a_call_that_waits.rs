//! Calls that wait by themselves, where futures are waited for.
use gossamer::sync::mpsc;
use std::time::Duration;

#[gossamer::main]
fn main() {
    let (sender, mut receiver) = mpsc::channel::<u8>(1);
    gossamer::select! {
        number = receiver.recv() => println!("{number:?}"),
        _ = gossamer::sleep_async(Duration::from_secs(1)) => drop(sender),
    }
}
