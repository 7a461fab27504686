//! The ways to start a fiber from a closure that captures, and functions of that name that are not gossamer's.
#![deny(warnings)]

use gossamer::{Trustee, spawn, spawn_on};

struct Pool;

impl Pool {
    fn spawn<R>(&self, job: impl FnOnce() -> R) -> R {
        job()
    }
}

#[gossamer::delegate]
fn on_parameter(trustee: Trustee, n: u64) -> u64 {
    trustee.spawn(move || n).join()
}

#[gossamer::delegate]
fn on_each(trustees: &[Trustee], n: u64) -> u64 {
    let mut total = 0;
    for trustee in trustees {
        total += trustee.spawn(move || n).join();
    }
    total
}

#[gossamer::main(threads = 2)]
fn main() {
    let (n, text) = (3u64, String::from("text"));

    assert_eq!(gossamer::spawn(move || n).join(), 3);
    assert_eq!(::gossamer::spawn(move || n + 1).join(), 4);
    assert_eq!(spawn(move || text.len()).join(), 4);
    spawn(move || assert_eq!(n, 3)).join();
    assert_eq!(spawn_on(Trustee::here(), move || n).join(), 3);
    assert_eq!(gossamer::spawn_on(Trustee::here(), move || n).join(), 3);
    assert_eq!(Trustee::here().spawn(move || n).join(), 3);
    assert_eq!(Trustee::all()[0].spawn(move || n).join(), 3);
    let here = Trustee::here();
    assert_eq!(here.spawn(move || n).join(), 3);
    let trust = gossamer::entrust(1u64);
    assert_eq!(trust.trustee().spawn(move || n).join(), 3);
    assert_eq!((on_parameter(here, n), on_each(&Trustee::all()[..1], n)), (3, 3));
    for trustee in Trustee::all() {
        trustee.spawn(move || n).join();
    }
    let handles: Vec<_> = (0..4u64).map(|index| spawn(move || index * n)).collect();
    assert_eq!(handles.into_iter().map(|handle| handle.join()).sum::<u64>(), 18);

    // Nested: a fiber that starts a fiber and uses a trust.
    let counter = trust.clone();
    gossamer::spawn(move || {
        let inner = counter.clone();
        spawn(move || inner.apply(move |count| *count += n)).join();
        counter.apply(move |count| *count += n);
    })
    .join();
    assert_eq!(trust.apply(|count| *count), 7);

    // Not gossamer's: threads, scopes of threads, methods of other types, closures and functions of this body.
    let borrowed = String::from("borrowed");
    assert_eq!(std::thread::spawn(move || n).join().unwrap(), 3);
    std::thread::scope(|scope| scope.spawn(|| borrowed.len()).join().unwrap());
    assert_eq!(Pool.spawn(|| borrowed.len()), 8);
    {
        let spawn = |job: &dyn Fn() -> usize| job();
        assert_eq!(spawn(&|| borrowed.len()), 8);
    }
}
