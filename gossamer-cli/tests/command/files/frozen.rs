//! `gossamer send` and `gossamer recv` that are stopped together before their stream is open, as when a machine is
//! paused, and go on later.

use crate::common::files::{Waiting, all_well, noise, recv};
use crate::common::{Scratch, signal, start};
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Longer than either of them waits for anything.
const FREEZE: Duration = Duration::from_secs(22);

/// What happens once, as soon as one side has said something on connection `on`; connection 0 is the control
/// connection.
struct Moment {
    on: usize,
    by_sender: bool,
    happens: Box<dyn Fn() + Send + Sync>,
    has_come: AtomicBool,
}

fn carry(mut from: &TcpStream, mut to: &TcpStream, moment: Option<&Moment>) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if let Some(moment) = moment.filter(|moment| !moment.has_come.swap(true, Ordering::Relaxed)) {
            (moment.happens)();
        }
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _closed = to.shutdown(Shutdown::Write);
}

/// The address of a relay for all connections.
fn between(listener: TcpListener, target: SocketAddr, moment: Moment) {
    let moment = Arc::new(moment);
    thread::spawn(move || {
        for (number, near) in listener.incoming().enumerate() {
            let (Ok(near), Ok(far)) = (near, TcpStream::connect(target)) else { return };
            let (near_too, far_too) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            let (up, down) = (Arc::clone(&moment), Arc::clone(&moment));
            thread::spawn(move || {
                carry(&near, &far, Some(&*up).filter(|it| it.on == number && it.by_sender))
            });
            thread::spawn(move || {
                carry(&far_too, &near_too, Some(&*down).filter(|it| it.on == number && !it.by_sender));
            });
        }
    });
}

fn goes_on_after_a_freeze(on: usize, by_sender: bool) {
    let scratch = Scratch::new(&format!("frozen-{on}-{by_sender}"));
    let (from, to) = (scratch.path("from"), scratch.path("to"));
    fs::write(&from, noise(1, 300_000)).unwrap();
    fs::create_dir(&to).unwrap();
    let Waiting { started, address, code } = recv(&to, &[]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let middle = Waiting { address: listener.local_addr().unwrap().to_string(), code, started };
    let sender = start(&mut middle.sender(&[&from], &["--streams", "1"]));
    let both = [sender.pid(), middle.started.pid()];
    let happens = move || {
        both.iter().for_each(|process| signal(*process, "STOP"));
        thread::sleep(FREEZE);
        both.iter().for_each(|process| signal(*process, "CONT"));
    };
    let moment = Moment { on, by_sender, happens: Box::new(happens), has_come: AtomicBool::new(false) };
    between(listener, address.parse().unwrap(), moment);
    all_well(&(sender.finish(), middle.started.finish()));
    assert!(fs::read(to.join("from")).unwrap() == noise(1, 300_000));
}

#[test]
fn a_transfer_that_is_stopped_while_its_ends_prove_the_code_goes_on() {
    goes_on_after_a_freeze(0, false);
}

#[test]
fn a_transfer_that_is_stopped_while_its_stream_is_opened_goes_on() {
    goes_on_after_a_freeze(1, true);
}
