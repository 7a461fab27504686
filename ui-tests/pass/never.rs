//! Closures that never return: an accept loop, a panic.

use gossamer::net::TcpListener;
use gossamer::{JoinHandle, Trustee};
use std::sync::atomic::{AtomicBool, Ordering};

#[gossamer::main(threads = 2)]
fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let accepting = gossamer::spawn(move || {
        loop {
            let _connection = listener.accept();
        }
    });
    assert!(!accepting.is_finished());
    drop(accepting);
    let error = gossamer::spawn(|| panic!("as asked for")).try_join().unwrap_err();
    assert!(error.to_string().contains("as asked for"));
    let text = String::from("there");
    let error = gossamer::spawn_on(Trustee::all()[1], move || panic!("{text}")).try_join().unwrap_err();
    assert!(error.to_string().contains("there"));
    let number: JoinHandle<u64> = Trustee::all()[1].spawn(|| panic!());
    assert!(number.try_join().is_err());
    outside();
}

/// Without the macros.
fn outside() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    let spinning = gossamer::spawn_with(
        |(): ()| {
            BEGUN.store(true, Ordering::Relaxed);
            loop {
                gossamer::yield_now();
            }
        },
        (),
    );
    while !BEGUN.load(Ordering::Relaxed) {
        gossamer::yield_now();
    }
    assert!(!spinning.is_finished());
}
