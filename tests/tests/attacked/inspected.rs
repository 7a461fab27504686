//! What a process says about its fibers, when asked and by itself: what each of them waits for, and which wait for each other for ever.

use crate::said::until_it_says;
use gossamer::inspect::{
    Deadlock, FiberGroup, InspectionSocket, NodeReport, ask, deadlocks, inspection_sockets,
};
use gossamer::{Latch, Trustee};
use integration_tests::{in_child, isolated, launch_crosswise, on_nodes, watched, workers};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

/// What this process reports about its runtimes.
fn reports() -> Vec<NodeReport> {
    ask(&own_socket()).unwrap()
}

/// Where this process can be asked, if it has a runtime.
pub(crate) fn own_socket_if_any() -> Option<InspectionSocket> {
    inspection_sockets().unwrap().into_iter().find(|socket| socket.process == std::process::id())
}

/// Where this process can be asked, if it has a runtime or is about to have one.
pub(crate) fn own_socket() -> InspectionSocket {
    loop {
        if let Some(socket) = own_socket_if_any() {
            return socket;
        }
        thread::yield_now();
    }
}

/// The first fibers for which this holds, once there are some.
pub(crate) fn fibers(are_meant: impl Fn(&FiberGroup) -> bool) -> FiberGroup {
    loop {
        let all = reports().into_iter().flat_map(|report| report.fibers);
        if let Some(found) = all.into_iter().find(&are_meant) {
            return found;
        }
        thread::yield_now();
    }
}

/// Runs `body` in a runtime of two workers that never ends; and `look`, the rest of the test, beside it.
pub(crate) fn beside(body: impl FnOnce() + Send + 'static, look: impl FnOnce() + Send + 'static) {
    isolated(|| {
        thread::spawn(|| gossamer::run(workers(2), body));
        own_socket();
        look();
        std::process::exit(0);
    });
}

/// The line of a place in this file.
fn line(place: &str) -> u32 {
    let (file, rest) = place.split_once(':').unwrap();
    assert!(file.ends_with("inspected.rs"), "{place}");
    rest.split(':').next().unwrap().parse().unwrap()
}

#[test]
fn fibers_that_do_the_same_are_told_together_with_the_call_and_its_line() {
    let spawned = line!() + 3;
    let body = || {
        let sleep = || gossamer::sleep(Duration::from_secs(3600));
        let fibers: Vec<_> = (0..40).map(|_| gossamer::spawn(sleep)).collect();
        fibers.into_iter().for_each(|fiber| fiber.join());
    };
    beside(body, move || {
        let group = fibers(|group| group.count == 40);
        assert_eq!((line(&group.spawned_at), &group.state[..]), (spawned, "waits"));
        assert_eq!(group.workers, [0, 1]);
        let wait = group.wait.unwrap();
        assert_eq!((&wait.call[..], line(&wait.at.unwrap())), ("sleep", spawned - 1));
    });
}

#[test]
#[gossamer::delegate]
fn a_request_that_is_not_answered_is_told_with_its_closure_property_and_worker_and_that_worker_with_what_it_runs()
 {
    let body = || {
        let slow = Trustee::all()[1].entrust(5_u8);
        slow.apply(|_| -> () {
            loop {
                thread::park();
            }
        });
    };
    beside(body, || {
        let is_answer = |group: &FiberGroup| group.wait.as_ref().is_some_and(|wait| wait.call == "apply");
        let wait = fibers(is_answer).wait.unwrap();
        assert_eq!((wait.property.as_deref(), wait.worker), (Some("u8"), Some(1)));
        let closure = wait.closure.unwrap();
        assert!(closure.contains("told_with_its_closure"), "{closure}");
        line(&wait.at.unwrap());
        let kept = reports().remove(0).workers.remove(1);
        assert!(!kept.answered && kept.runs.contains("the delegated closure"), "{kept:?}");
        assert!(kept.runs.contains("inspected.rs:"), "{}", kept.runs);
    });
}

#[test]
fn who_waits_for_a_message_a_socket_or_a_lock_is_told_with_the_line_of_the_call() {
    let body = || {
        let (_kept, mut receiver) = gossamer::sync::mpsc::channel::<u8>(1);
        let listener = gossamer::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mutex = gossamer::sync::Mutex::new(0_u8);
        let held = mutex.lock();
        let other = mutex.clone();
        let all = [
            gossamer::spawn_local(move || assert!(receiver.recv().is_none())),
            gossamer::spawn_local(move || drop(listener.accept())),
            gossamer::spawn_local(move || drop(other.lock())),
        ];
        all.into_iter().for_each(|fiber| fiber.join());
        drop(held);
    };
    beside(body, || {
        for call in ["recv", "TcpListener::accept", "lock"] {
            let is_meant = |group: &FiberGroup| group.wait.as_ref().is_some_and(|wait| wait.call == call);
            let wait = fibers(is_meant).wait.unwrap();
            line(&wait.at.unwrap_or_else(|| panic!("{call} has no line")));
        }
    });
}

/// The deadlocks of this process, once there is one.
fn found() -> Vec<Deadlock> {
    loop {
        let (before, now) = (reports(), reports());
        let found: Vec<Deadlock> = deadlocks(&before, &now).into_iter().map(|(_, found)| found).collect();
        if !found.is_empty() {
            return found;
        }
        thread::yield_now();
    }
}

#[test]
fn two_latches_that_wait_for_each_other_are_a_deadlock_with_all_lines() {
    let body = || launch_crosswise(Trustee::all()[0], Trustee::all()[1]);
    beside(body, || {
        let found = found();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].fibers.len(), 4);
        let text = found[0].to_string();
        assert_eq!(text.matches("holds a latch").count(), 2, "{text}");
        assert_eq!(text.matches("for the latch that the fiber spawned at").count(), 2, "{text}");
        assert!(text.contains("in one order everywhere"), "{text}");
    });
}

#[test]
#[gossamer::delegate]
fn a_latch_that_is_launched_in_itself_is_a_deadlock() {
    let body = || {
        let latch = gossamer::entrust(Latch::new(0_u64));
        let again = latch.clone();
        latch.launch(|value| *value += again.launch(|value| *value));
    };
    beside(body, || {
        let found = found();
        assert_eq!((found.len(), found[0].fibers.len()), (1, 2), "{found:?}");
    });
}

#[test]
fn fibers_that_join_each_other_are_a_deadlock_and_who_waits_for_them_is_no_part() {
    let body = || {
        type Handle = gossamer::JoinHandle<()>;
        let (give, mut take) = gossamer::sync::mpsc::channel::<Handle>(1);
        let first = gossamer::spawn_local(move || {
            let other = take.recv().unwrap();
            other.join();
        });
        let (hand, mut get) = gossamer::sync::mpsc::channel::<Handle>(1);
        let second = gossamer::spawn_local(move || {
            let other = get.recv().unwrap();
            other.join();
        });
        assert!(hand.send(first).is_ok() && give.send(second).is_ok());
        let waits = gossamer::spawn_local(|| gossamer::sleep(Duration::from_secs(3600)));
        waits.join();
    };
    beside(body, || {
        let found = found();
        assert_eq!((found.len(), found[0].fibers.len()), (1, 2), "{found:?}");
        assert!(found[0].to_string().contains("waits in `join`"), "{}", found[0]);
    });
}

#[test]
fn who_only_waits_for_others_is_in_no_deadlock() {
    let body = || {
        let (kept, mut receiver) = gossamer::sync::mpsc::channel::<u8>(1);
        let latch = gossamer::entrust(Latch::new(0_u64));
        let holder = gossamer::spawn_local(move || {
            receiver.recv();
        });
        let behind = gossamer::spawn_local(move || holder.join());
        let last = latch.launch_async(move |_| gossamer::sleep(Duration::from_secs(3600)));
        behind.join();
        last.wait();
        drop(kept);
    };
    beside(body, || {
        fibers(|group| group.wait.as_ref().is_some_and(|wait| wait.call == "sleep"));
        for _ in 0..20 {
            assert!(deadlocks(&reports(), &reports()).is_empty());
        }
    });
}

#[test]
fn a_deadlock_over_nodes_is_told_by_the_process_itself_when_nothing_goes_on() {
    for fabric in integration_tests::fabrics() {
        let texts = &["no progress for", "4 fibers wait for each other", "crosswise.rs:", "holds a latch"];
        until_it_says(
            |_| (),
            texts,
            move || {
                let config = workers(1).fabric(fabric).stalled_after(Duration::from_millis(300));
                gossamer::rack::run_in_process(2, config, || {
                    let all = Trustee::all();
                    launch_crosswise(all[0], all[1]);
                });
            },
        );
    }
}

#[test]
#[gossamer::delegate]
fn a_closure_that_keeps_its_worker_is_named_while_it_does_with_its_line() {
    let texts = &[
        "worker 1 has been held up for",
        "the delegated closure",
        "inspected.rs:",
        "1 request of this node waits for it",
        "gossamer::unblock",
    ];
    until_it_says(
        |_| (),
        texts,
        || {
            gossamer::run(workers(2), || {
                let slow = Trustee::all()[1].entrust(0_u64);
                slow.apply(|_| -> () {
                    loop {
                        std::hint::spin_loop();
                    }
                });
            });
        },
    );
}

#[test]
fn who_waits_at_a_barrier_is_told_with_how_many_have_come() {
    let body = || {
        let barrier = gossamer::sync::Barrier::new(3);
        let wait = |barrier: gossamer::sync::Barrier| _ = barrier.wait();
        let fibers: Vec<_> = (0..2).map(|_| gossamer::spawn_with(wait, barrier.clone())).collect();
        fibers.into_iter().for_each(|fiber| fiber.join());
    };
    beside(body, || {
        let waits = |group: &FiberGroup| group.wait.as_ref().is_some_and(|wait| wait.call == "Barrier::wait");
        let wait = fibers(|group| waits(group) && group.count == 2).wait.unwrap();
        assert_eq!(wait.what.as_deref(), Some("the others: 2 of 3 have come"));
        line(&wait.at.unwrap());
    });
}

#[test]
fn a_process_that_is_found_while_it_starts_can_be_asked() {
    isolated(|| {
        let socket = socket();
        for _ in 0..300 {
            let starts =
                thread::spawn(|| gossamer::run(workers(1), || gossamer::sleep(Duration::from_millis(1))));
            let asked = loop {
                match UnixStream::connect(&socket) {
                    Err(error) if error.kind() == ErrorKind::NotFound && !starts.is_finished() => {}
                    asked => break asked,
                }
            };
            assert!(
                !asked.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused),
                "it is there, and refuses"
            );
            starts.join().unwrap();
        }
    });
}

#[test]
fn sigquit_has_a_process_say_what_its_fibers_do_and_go_on() {
    let texts = &["SIGQUIT: what the fibers of this process do", "in `sleep`", "inspected.rs:"];
    until_it_says(
        |_| (),
        texts,
        || {
            // As a shell does that has started this process in the background.
            // SAFETY: there is no handler yet.
            unsafe { libc::signal(libc::SIGQUIT, libc::SIG_DFL) };
            // It is not only about the first runtime.
            gossamer::run(workers(1), || ());
            gossamer::run(workers(1), || {
                // SAFETY: sends a signal to this process.
                assert!(unsafe { libc::kill(std::process::id() as i32, libc::SIGQUIT) } == 0);
                gossamer::sleep(Duration::from_secs(3600));
            });
        },
    );
}

/// The socket of this process.
fn socket() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    // SAFETY: asks only.
    let user = unsafe { libc::geteuid() };
    let directory =
        runtime.map_or_else(|| format!("/tmp/gossamer-{user}").into(), |path| path.join("gossamer"));
    directory.join(format!("{}.sock", std::process::id()))
}

#[test]
fn nobody_but_its_user_gets_in_and_who_does_not_read_or_sends_garbage_holds_up_nobody() {
    let body = || gossamer::sleep(Duration::from_secs(3600));
    beside(body, || {
        let path = socket();
        let mode = std::fs::metadata(path.parent().unwrap()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let mut silent: Vec<UnixStream> = Vec::new();
        for garbage in [&b""[..], b"\n", b"stacks\n", b"stacks 99\n", &[0xff; 10_000]] {
            for _ in 0..20 {
                let mut stream = UnixStream::connect(&path).unwrap();
                // It may already be closed.
                let _refused = stream.write_all(garbage);
                silent.push(stream);
            }
        }
        // After a while, all clients that are silent are sent away; then others are heard.
        let socket = inspection_sockets()
            .unwrap()
            .into_iter()
            .find(|socket| socket.process == std::process::id())
            .unwrap();
        while ask(&socket).is_err() {
            thread::sleep(Duration::from_millis(10));
        }
        for mut stream in silent {
            let mut answer = Vec::new();
            // The connection is reset if the client was sent away before its request was read.
            let _reset = stream.read_to_end(&mut answer);
            let told = [&b"refused "[..], b"busy"].iter().any(|told| answer.starts_with(told));
            assert!(answer.is_empty() || told, "{answer:?}");
        }
    });
}

#[test]
fn a_process_whose_runtimes_have_ended_has_no_socket() {
    isolated(|| {
        gossamer::run(workers(1), || assert!(socket().exists()));
        assert!(!socket().exists());
        watched(|| gossamer::run(workers(1), || assert!(socket().exists())));
    });
}

#[test]
fn a_process_that_is_killed_leaves_nothing_that_others_take_for_one() {
    let ended = in_child(
        |_| (),
        || {
            gossamer::run(workers(1), || {
                eprintln!("{}", socket().display());
                // SAFETY: ends this process.
                unsafe { libc::kill(std::process::id() as i32, libc::SIGKILL) };
            });
        },
    );
    let path = PathBuf::from(ended.errors.lines().last().unwrap());
    let process: u32 = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    assert!(inspection_sockets().unwrap().iter().all(|socket| socket.process != process));
    // The next one to come tidies up.
    on_nodes(1, 1, || ());
    assert!(!path.exists());
}
