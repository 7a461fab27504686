//! Loops over the lines of a file.

use crate::files::Scratch;
use gossamer::collections::{DistCounter, DistMap, DistVec, FileLines};
use gossamer::{Trustee, entrust, spawn_local, spawn_on_with, yield_now};
use integration_tests::{in_runtime, on_nodes, panic_text};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::{fs, thread};

fn lines(file: &Scratch) -> FileLines {
    FileLines::open(&file.0).unwrap()
}

/// Each line with its place, in order.
#[gossamer::delegate]
fn all_lines(text: &FileLines) -> Vec<(u64, String)> {
    let found = entrust(Vec::new());
    let add = found.clone();
    text.par_for_each(move |at, line| {
        let line = (at, line.to_owned());
        add.apply(|found| found.push(line));
    });
    let mut found = found.apply(std::mem::take);
    found.sort();
    found
}

/// Some texts: short ones, many short lines, and lines that are longer than several pieces.
fn texts() -> Vec<String> {
    let short = ["", "\n", "one", "one\n", "one\r\ntwo\n\nfour\r", "\n\n\n\n\n", "h\u{e9}\n\u{20ac}uro\n"];
    let many: String = (0..20_000).map(|number| format!("{number}\n")).collect();
    let long = format!("first\n{}\n\n{}\nlast", "x".repeat(1_000_000), "y".repeat(70_000));
    short.into_iter().map(str::to_owned).chain([many, long]).collect()
}

/// What `str::lines` says, with the places.
fn expected(text: &str) -> Vec<(u64, String)> {
    let place = |line: &str| (line.as_ptr() as usize - text.as_ptr() as usize) as u64;
    text.lines().map(|line| (place(line), line.to_owned())).collect()
}

#[test]
fn each_line_is_visited_once_with_its_place() {
    on_nodes(2, 2, || {
        let file = Scratch::new(&format!("each-line-{:?}", thread::current().id()));
        for text in texts() {
            fs::write(&file.0, &text).unwrap();
            assert!(all_lines(&lines(&file)) == expected(&text), "{} bytes", text.len());
            let last = *Trustee::all().last().unwrap();
            assert!(all_lines(&lines(&file).on(&[last, last])) == expected(&text), "{} bytes", text.len());
        }
    });
}

#[test]
fn folds_and_reductions_are_in_the_order_of_the_file() {
    for threads in [1, 3] {
        in_runtime(threads, ordered);
    }
}

#[gossamer::delegate]
fn ordered() {
    let file = Scratch::new("ordered-lines");
    for text in texts() {
        fs::write(&file.0, &text).unwrap();
        let (read, joined) = (lines(&file), |found: Vec<(u64, char)>| found);
        let mark = std::hint::black_box('.');
        let first = |line: &str| line.chars().next().unwrap_or('.');
        let expected: Vec<_> = expected(&text).into_iter().map(|(at, line)| (at, first(&line))).collect();
        let folded = read.par_fold(Vec::new(), |mut found: Vec<(u64, char)>, at, line| {
            found.push((at, line.chars().next().unwrap_or(mark)));
            found
        });
        assert_eq!(joined(folded.concat()), expected);
        let reduced = read.par_map_reduce(
            |at, line| vec![(at, line.chars().next().unwrap_or(mark))],
            |mut one: Vec<(u64, char)>, other| {
                one.extend(other);
                one
            },
        );
        assert_eq!(reduced.unwrap_or_default(), expected);
    }
}

#[test]
fn what_lines_emit_goes_to_vectors_and_maps() {
    on_nodes(2, 2, emitted);
}

#[gossamer::delegate]
fn emitted() {
    let file = Scratch::new(&format!("emitted-lines-{:?}", thread::current().id()));
    let text: String = (0..30_000).map(|number| format!("{} {}\n", number % 7, number % 1000)).collect();
    fs::write(&file.0, &text).unwrap();
    let (counts, digits, prefix) = (DistMap::new(), DistVec::filled(10, 0_u64), "w".to_owned());
    let sent = lines(&file)
        .par_emit(|_, line, out| line.split(' ').for_each(|word| out.push(format!("{prefix}{word}"), 1_u64)))
        .merge_into(&counts, |count, more| *count += more);
    let mut expected = BTreeMap::<String, u64>::new();
    text.split_whitespace().for_each(|word| *expected.entry(format!("w{word}")).or_default() += 1);
    assert_eq!((sent, counts.chunks().flatten().collect::<BTreeMap<_, _>>()), (60_000, expected));

    let sent = lines(&file)
        .par_emit(|_, line, out| {
            line.bytes().filter(u8::is_ascii_digit).for_each(|digit| out.push(usize::from(digit - b'0'), 1))
        })
        .apply_to(&digits, |count, more| *count += more);
    let expected: Vec<_> =
        (b'0'..=b'9').map(|digit| text.bytes().filter(|byte| *byte == digit).count() as u64).collect();
    assert_eq!((digits.to_vec(), sent), (expected.clone(), expected.iter().sum()));
}

fn parse(_: u64, line: &str) -> u64 {
    line.parse().unwrap()
}

#[test]
fn a_panic_names_the_line_and_the_file_and_ends_the_loop() {
    in_runtime(2, || {
        let file = Scratch::new("panicking-lines");
        fs::write(&file.0, "12\n7\nseven\n8\n").unwrap();
        let read = lines(&file);
        for text in [
            panic_text(|| read.par_for_each(|at, line| _ = parse(at, line))),
            panic_text(|| read.par_fold(0, |sum, at, line| sum + parse(at, line))),
            panic_text(|| read.par_map_reduce(parse, |one, other| one + other)),
            panic_text(|| {
                let all = DistVec::filled(20, 0_u64);
                read.par_emit(|at, line, out| out.push(parse(at, line) as usize, 1))
                    .apply_to(&all, |n, more| *n += more)
            }),
        ] {
            let expected = format!("the line at byte 5 of {}: ", file.0.display());
            assert!(text.contains(&expected) && text.contains("InvalidDigit"), "{text}");
            assert!(text.contains(file!()) && !text.contains("gossamer/src"), "{text}");
        }
        assert_eq!(read.par_map_reduce(|_, _| 1, |one, other| one + other), Some(4));
    });
}

#[test]
fn what_has_no_lines_to_read_is_refused_where_it_is_opened() {
    in_runtime(1, || {
        let file = Scratch::new("no-lines");
        let refused = |path: &Path| FileLines::open(path).unwrap_err().to_string();
        assert!(refused(&file.0).contains("-no-lines on node 0: No such file"), "{}", refused(&file.0));
        assert!(refused(Path::new("/")).contains("not a regular file"), "{}", refused(Path::new("/")));
        let kernels = Path::new("/proc/self/status");
        assert!(refused(kernels).contains("says that its length is 0"), "{}", refused(kernels));
        assert!(Command::new("mkfifo").arg(&file.0).status().unwrap().success());
        assert!(refused(&file.0).contains("not a regular file"), "{}", refused(&file.0));
        let error = DistVec::from_lines(&file.0).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    });
}

#[test]
fn a_file_that_is_not_text_or_becomes_shorter_is_told_with_its_node() {
    in_runtime(2, || {
        let file = Scratch::new("bad-lines");
        fs::write(&file.0, b"good\nbad \xff\ngood\n").unwrap();
        let count = |read: &FileLines| panic_text(|| read.par_fold(0, |count, _, _| count + 1));
        let text = count(&lines(&file));
        let expected = "on node 0: the line at byte 5 is not UTF-8: the byte 0xff at 4 in it";
        assert!(text.contains(expected) && !text.contains("gossamer/src"), "{text}");
        let read = lines(&file);
        fs::write(&file.0, "go").unwrap();
        let text = count(&read);
        assert!(text.contains("it has 2 bytes, and had 16 before"), "{text}");
        fs::remove_file(&file.0).unwrap();
        let text = count(&read);
        assert!(text.contains("-bad-lines on node 0: No such file"), "{text}");
    });
}

#[test]
fn what_is_written_to_a_file_after_it_was_opened_is_not_read() {
    in_runtime(2, || {
        let file = Scratch::new("growing-lines");
        fs::write(&file.0, "one\ntwo").unwrap();
        let read = lines(&file);
        fs::write(&file.0, "one\ntwothree\nfour\n").unwrap();
        assert_eq!(all_lines(&read), [(0, "one".to_owned()), (4, "two".to_owned())]);
    });
}

#[test]
fn a_closure_may_wait_and_other_fibers_of_the_worker_go_on() {
    in_runtime(1, || {
        let file = Scratch::new("waiting-lines");
        fs::write(&file.0, "a\nb\n").unwrap();
        let (read, passed) = (lines(&file), DistCounter::new());
        let waited_for = passed.clone();
        let loops = spawn_local(move || {
            let wait = |_: u64, _: &str, passed: &DistCounter| {
                while passed.sum() == 0 {
                    yield_now();
                }
            };
            read.par_for_each_with(wait, waited_for);
        });
        yield_now();
        passed.add(1);
        loops.join();
    });
}

#[test]
fn a_cancelled_loop_leaves_the_file_and_the_next_loop_alone() {
    on_nodes(2, 2, || {
        let file = Scratch::new(&format!("cancelled-lines-{:?}", thread::current().id()));
        let text: String = (0..50_000).map(|number| format!("{number}\n")).collect();
        fs::write(&file.0, text).unwrap();
        for pauses in [0, 1, 5, 50] {
            let read = lines(&file);
            let loops = spawn_on_with(
                Trustee::here(),
                const {
                    |read: FileLines| loop {
                        read.par_for_each(const { |_, _| () });
                    }
                },
                read.clone(),
            );
            (0..pauses).for_each(|_| yield_now());
            loops.cancel();
            assert_eq!(
                read.par_map_reduce(const { |_, _| 1 }, const { |one, other| one + other }),
                Some(50_000)
            );
        }
    });
}
