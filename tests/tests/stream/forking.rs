//! Forks and commands while streams come and go: no connection of the parent is lost, and no child closes anything else.

use crate::{bytes_at, joins, small};
use gossamer::stream::Length;
use integration_tests::isolated;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What a descriptor refers to.
fn leads_to(descriptor: i32) -> Option<(u64, u64)> {
    // SAFETY: zeros are a valid value of numbers.
    let mut about: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: it writes there.
    let told = unsafe { libc::fstat(descriptor, &raw mut about) };
    (told == 0).then_some((about.st_dev, about.st_ino))
}

/// Forks; the child checks whether the files are open, and forks once more if it is at the first level.
fn fork(files: &[(i32, (u64, u64))], again: bool) -> i32 {
    // SAFETY: the child makes system calls only.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: a hang is a SIGALRM.
        unsafe { libc::alarm(10) };
        let mut status = i32::from(files.iter().any(|(file, is)| leads_to(*file) != Some(*is)));
        if again && status == 0 {
            status = i32::from(fork(files, false) != 0) * 2;
        }
        // SAFETY: the child ends here.
        unsafe { libc::_exit(status) };
    }
    let mut status = 0;
    // SAFETY: the child is ours.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    status
}

#[test]
fn children_in_between_take_nothing_from_streams_that_come_and_go() {
    isolated(|| {
        let due = Instant::now()
            + Duration::from_secs(std::env::var("SECONDS_FORKING").map_or(3, |text| text.parse().unwrap()));
        let stop = Arc::new(AtomicBool::new(false));
        let rounds = Arc::new(AtomicU64::new(0));
        let streams: Vec<_> = (0..3_u64)
            .map(|number| {
                let (stop, rounds) = (Arc::clone(&stop), Arc::clone(&rounds));
                thread::spawn(move || {
                    let mut random = fastrand::Rng::with_seed(number);
                    while !stop.load(Ordering::Relaxed) {
                        let join = joins()[random.usize(..joins().len())];
                        let (mut sender, mut receiver) = join.ends(Length::Open, small());
                        let ends_well = random.bool();
                        let writing = thread::spawn(move || {
                            sender.write_everything(&bytes_at(0, 100_000)).unwrap();
                            sender.flush().unwrap();
                            if ends_well {
                                sender.finish().unwrap();
                            }
                        });
                        let mut all = Vec::new();
                        let outcome = receiver.read_to_end(&mut all);
                        // If a child still had the connection, it would not end.
                        assert_eq!(outcome.is_ok(), ends_well, "{join:?}: {outcome:?}");
                        writing.join().unwrap();
                        if ends_well {
                            assert!(all == bytes_at(0, 100_000));
                        }
                        rounds.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let commands = {
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    assert!(Command::new("true").status().unwrap().success());
                }
            })
        };
        // Opened in between, so that their numbers are those of streams before and after.
        let (mut files, mut forks) = (Vec::<File>::new(), 0);
        while Instant::now() < due {
            if files.len() > 20 {
                files.drain(..fastrand::usize(..files.len()));
            }
            files.push(File::open("/proc/self/maps").unwrap());
            let numbers: Vec<_> =
                files.iter().map(|file| (file.as_raw_fd(), leads_to(file.as_raw_fd()).unwrap())).collect();
            let status = fork(&numbers, forks % 4 == 0);
            assert_eq!(status, 0, "after {forks} forks");
            forks += 1;
        }
        stop.store(true, Ordering::Relaxed);
        streams.into_iter().for_each(|stream| stream.join().unwrap());
        commands.join().unwrap();
        println!("{forks} forks, {} streams", rounds.load(Ordering::Relaxed));
    });
}
