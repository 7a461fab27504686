//! `gossamer::signal`: signals as events. Each test has a process of its own.

use gossamer::signal::{SignalKind, Signals, ctrl_c, ctrl_c_async, terminate, terminate_async};
use gossamer::spawn;
use integration_tests::{isolated, on_nodes, workers};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Sends a signal, which is handled before this returns. It is sent to this thread: a signal for the whole process is
/// handled by the first thread, on a stack that `exit` unmaps, whichever thread calls it; a signal that came then would
/// be a fault.
fn send(kind: SignalKind) {
    // SAFETY: a system call on a number.
    assert_eq!(unsafe { libc::raise(kind.number()) }, 0);
}

#[test]
fn fibers_wait_for_signals_that_no_longer_end_the_process() {
    isolated(|| {
        gossamer::run(workers(1), || {
            let signals = Signals::new([SignalKind::INTERRUPT, SignalKind::TERMINATE]).unwrap();
            let sender = spawn(|| send(SignalKind::TERMINATE));
            assert_eq!(signals.recv().unwrap(), SignalKind::TERMINATE);
            sender.join();
            send(SignalKind::INTERRUPT);
            assert_eq!(signals.recv().unwrap().to_string(), "SIGINT");
            send(SignalKind::TERMINATE);
            send(SignalKind::INTERRUPT);
            let mut both = [signals.recv().unwrap(), signals.recv().unwrap()];
            both.sort_by_key(|kind| kind.number());
            assert_eq!(both, [SignalKind::INTERRUPT, SignalKind::TERMINATE]);
        });
        send(SignalKind::TERMINATE);
    });
}

#[test]
fn each_who_waits_for_a_signal_gets_it() {
    isolated(|| {
        static WAITING: AtomicUsize = AtomicUsize::new(0);
        gossamer::run(workers(2), || {
            let wait = |kind: SignalKind| {
                let signals = Signals::new([kind]).unwrap();
                WAITING.fetch_add(1, Ordering::Relaxed);
                signals.recv().unwrap();
            };
            let fibers: Vec<_> = (0..10).map(|_| gossamer::spawn_with(wait, SignalKind::USER1)).collect();
            integration_tests::wait_until(|| WAITING.load(Ordering::Relaxed) == 10);
            send(SignalKind::USER1);
            fibers.into_iter().for_each(|fiber| fiber.join());
        });
    });
}

#[test]
fn ctrl_c_and_sigterm_have_calls_of_their_own() {
    isolated(|| {
        gossamer::run(workers(1), || {
            // Taken over for good, so that no signal comes too early.
            drop(Signals::new([SignalKind::INTERRUPT, SignalKind::TERMINATE]).unwrap());
            for (wait, kind) in [
                (ctrl_c as fn() -> std::io::Result<()>, SignalKind::INTERRUPT),
                (terminate, SignalKind::TERMINATE),
            ] {
                let waiting = gossamer::spawn_with(
                    |wait: usize| {
                        let waits: [fn() -> std::io::Result<()>; 2] = [ctrl_c, terminate];
                        waits[wait]().unwrap();
                    },
                    usize::from(wait as usize == terminate as fn() -> std::io::Result<()> as usize),
                );
                while !waiting.is_finished() {
                    send(kind);
                    gossamer::yield_now();
                }
                waiting.join();
            }
        });
    });
}

#[test]
fn a_time_or_another_event_ends_the_wait_for_ctrl_c_and_sigterm() {
    isolated(|| {
        on_nodes(2, 1, || {
            let short = std::time::Duration::from_millis(1);
            assert!(gossamer::timeout(short, ctrl_c_async()).is_err());
            assert!(gossamer::timeout(short, terminate_async()).is_err());
            // Taken over by the call, before anybody polls.
            let (pressed, told) = (ctrl_c_async(), terminate_async());
            send(SignalKind::TERMINATE);
            gossamer::select! {
                _ = pressed => panic!("nobody has pressed it"),
                outcome = told => outcome.unwrap(),
            }
            let pressed = ctrl_c_async();
            send(SignalKind::INTERRUPT);
            gossamer::block_on(pressed).unwrap();
        });
    });
}

#[test]
fn a_thread_and_an_async_task_wait_for_signals_too() {
    isolated(|| {
        let signals = Signals::new([SignalKind::USER2]).unwrap();
        send(SignalKind::USER2);
        assert_eq!(signals.recv().unwrap(), SignalKind::USER2);
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let sender = std::thread::spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            send(SignalKind::USER2);
        });
        assert_eq!(tokio.block_on(signals.recv_async()).unwrap(), SignalKind::USER2);
        sender.join().unwrap();
        assert!(Signals::new([]).is_err());
    });
}

#[test]
fn a_fiber_of_the_first_node_of_a_rack_hears_signals() {
    isolated(|| {
        on_nodes(3, 2, || {
            let signals = Signals::new([SignalKind::TERMINATE]).unwrap();
            send(SignalKind::TERMINATE);
            assert_eq!(signals.recv().unwrap(), SignalKind::TERMINATE);
        });
    });
}

#[test]
fn handlers_do_not_need_room_on_the_stack_of_a_fiber() {
    isolated(|| {
        let _signals = Signals::new([SignalKind::USER1]).unwrap();
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: asks only; `action` is writable.
        let asked =
            unsafe { libc::sigaction(SignalKind::USER1.number(), std::ptr::null(), action.as_mut_ptr()) };
        assert_eq!(asked, 0);
        // SAFETY: the kernel has written it.
        assert_ne!(unsafe { action.assume_init() }.sa_flags & libc::SA_ONSTACK, 0);
    });
}
