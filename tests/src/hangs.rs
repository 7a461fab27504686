//! Ways in which programs hang; each happens on one worker.

use gossamer::net::TcpListener;
use gossamer::{Latch, Trust, Trustee, rack, spawn_on_with};
use std::hint::spin_loop;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

/// Never returns.
///
/// # Panics
/// If no way has this name.
#[gossamer::delegate]
pub fn hang(way: &str, there: Trustee) {
    match way {
        "latch in itself" => launch_in_itself(there.entrust(Latch::new(0_u64))),
        "accept" => {
            let accept = const { |()| drop(TcpListener::bind("127.0.0.1:0").unwrap().accept()) };
            let _accepting = spawn_on_with(there, accept, ());
            rack::wait_all();
        }
        "mutex" => {
            let holding = spawn_on_with(there, const { |()| lock_and_sleep() }, ());
            let _waiting = spawn_on_with(there, const { |()| lock_and_sleep() }, ());
            holding.join();
        }
        "thread::sleep" => spawn_on_with(there, const { |()| thread::sleep(LONG) }, ()).join(),
        "endless loop" => spawn_on_with(there, const { |()| spin() }, ()).join(),
        "closure" => there.entrust(0_u64).apply(|_| thread::sleep(LONG)),
        other => panic!("`{other}` is not a way to hang"),
    }
}

#[gossamer::delegate]
fn launch_in_itself(latch: Trust<Latch<u64>>) {
    let again = latch.clone();
    latch.launch(|value| *value += again.launch(|value| *value));
}

/// The second fiber that does this on a worker blocks the worker for as long as the first one sleeps.
fn lock_and_sleep() {
    static HELD: Mutex<()> = Mutex::new(());
    let _held = HELD.lock();
    gossamer::sleep(LONG);
}

fn spin() {
    loop {
        spin_loop();
    }
}
