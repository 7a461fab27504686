//! Streams of a user other than root, who may not open `/dev/userfaultfd`.

use crate::raw::iota_to_sum;
use crate::{joins, small};
use gossamer::stream::{self, Error, Faults, Geometry, Key, Length, Options, Receiver, Sender};
use integration_tests::{in_child, isolated};
use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io::Read;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::ptr::null;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Gives up the rights of root, in all threads.
fn become_nobody() {
    const NOBODY: u32 = 65534;
    // SAFETY: a system call.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    // SAFETY: no group is read.
    let groups = unsafe { libc::setgroups(0, null()) };
    // SAFETY: a system call, as the next one.
    let group = unsafe { libc::setresgid(NOBODY, NOBODY, NOBODY) };
    // SAFETY: as above.
    let user = unsafe { libc::setresuid(NOBODY, NOBODY, NOBODY) };
    assert_eq!([groups, group, user], [0; 3]);
}

#[test]
fn a_user_who_is_not_root_has_windows_over_every_way() {
    isolated(|| {
        become_nobody();
        for join in joins() {
            for faults in [Faults::Auto, Faults::Signal] {
                for geometry in [Geometry::default(), small()] {
                    iota_to_sum(join, 16 << 20, Options::from(geometry).faults(faults));
                }
            }
        }
        let options = |faults| Options::from(small()).faults(faults);
        let window = |faults| stream::pair(0, options(faults)).unwrap().0.into_window();
        if File::options().read(true).write(true).open("/dev/userfaultfd").is_err() {
            assert!(!window(Faults::Auto).unwrap().serves_system_calls());
            let error = window(Faults::Userfault).unwrap_err().to_string();
            assert!(error.contains("/dev/userfaultfd") && error.contains("`Faults::Signal`"), "{error}");
        }
    });
}

/// Makes this thread, and those it starts, another user's. The C library would do that to all threads.
fn this_thread_becomes_nobody() {
    const NOBODY: u32 = 65534;
    // SAFETY: a system call, which reads no memory.
    let done = unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
    assert_eq!(done, 0);
}

fn is_root(what: &str) -> bool {
    // SAFETY: a system call.
    let is_root = unsafe { libc::geteuid() } == 0;
    if !is_root {
        eprintln!("\n!!! SKIPPED: {what} takes root !!!\n");
    }
    is_root
}

/// The rings that this process has mapped.
fn rings() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let rings = maps.lines().filter(|line| line.contains("memfd:gossamer-stream"));
    rings.map(|line| line.split_whitespace().nth(4).unwrap()).collect::<BTreeSet<_>>().len()
}

/// Sends from another user to this one, or within one; returns how many rings that takes.
fn rings_of(two_users: bool) -> Result<usize, Error> {
    let key = Key::from_hex(&"5a".repeat(32))?;
    let options = Options::from(small()).key(key);
    let listener = Receiver::bind("127.0.0.1:0", options.clone())?;
    let address = listener.local_addr()?;
    let sending = thread::spawn(move || {
        if two_users {
            this_thread_becomes_nobody();
        }
        let mut sender = Sender::connect(address, Length::Open, options)?;
        sender.write_everything(b"bytes")?;
        sender.finish()
    });
    let received = listener.accept().and_then(|mut receiver| {
        let mut text = [0; 5];
        receiver.read_exact(&mut text).unwrap();
        let rings = rings();
        receiver.finish().map(|()| rings)
    });
    sending.join().unwrap()?;
    received
}

#[test]
fn ends_of_two_users_share_memory_only_where_nothing_else_is_allowed() {
    if !is_root("a second user") {
        return;
    }
    for (fabric, two_users, expected) in
        [("auto", false, 1), ("auto", true, 2), ("tcp", true, 2), ("shm", true, 1)]
    {
        let ended = in_child(
            |command| {
                command
                    .env("GOSSAMER_FABRIC", fabric)
                    .env("EXPECTED_RINGS", format!("{two_users} {expected}"));
            },
            || {
                let expected = std::env::var("EXPECTED_RINGS").unwrap();
                let (two_users, rings) = expected.split_once(' ').unwrap();
                assert_eq!(rings_of(two_users == "true").unwrap(), rings.parse::<usize>().unwrap());
            },
        );
        assert!(ended.status.success(), "{fabric} {two_users}: {}", ended.errors);
    }
}

/// The names at which this process waits for streams. Those of other tests' processes are left alone: where these are of
/// the stranger's own user, it would hold them up.
fn names_of_streams() -> Vec<String> {
    let files = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let sockets: BTreeSet<_> = files
        .filter_map(|file| std::fs::read_link(file.path()).ok()?.into_os_string().into_string().ok())
        .filter_map(|file| Some(file.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let names = std::fs::read_to_string("/proc/net/unix").unwrap();
    let ours = |line: &str| {
        let (socket, name) = line.split_once(" @gossamer-stream-")?;
        sockets.contains(socket.rsplit(' ').next()?).then(|| format!("gossamer-stream-{name}"))
    };
    names.lines().filter_map(ours).collect()
}

#[test]
fn a_stranger_at_the_name_of_a_stream_holds_up_nobody() {
    if !is_root("a second user") {
        return;
    }
    isolated(|| {
        static DONE: AtomicBool = AtomicBool::new(false);
        static CONNECTED: AtomicUsize = AtomicUsize::new(0);
        let squatting = thread::spawn(|| {
            this_thread_becomes_nobody();
            let mut held = VecDeque::new();
            while !DONE.load(Ordering::Relaxed) {
                for name in names_of_streams() {
                    let address = SocketAddr::from_abstract_name(name).unwrap();
                    held.extend((0..20).filter_map(|_| UnixStream::connect_addr(&address).ok()));
                }
                CONNECTED.fetch_max(held.len(), Ordering::Relaxed);
                held.drain(..held.len().saturating_sub(200));
            }
        });
        let mut rounds = 0;
        while rounds < 200 || CONNECTED.load(Ordering::Relaxed) < 100 {
            rings_of(false).unwrap();
            rounds += 1;
        }
        DONE.store(true, Ordering::Relaxed);
        squatting.join().unwrap();
    });
}
