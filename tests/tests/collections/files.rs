//! Vectors out of files and streams, and into them.

use crate::layouts;
use gossamer::collections::{DistVec, Layout};
use gossamer::stream::{self, Geometry, ReceiveEnd};
use gossamer::{Trustee, spawn_on_with};
use integration_tests::{in_runtime, on_nodes};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs, process};

/// A file of this test, which is removed with it.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        Self(env::temp_dir().join(format!("gossamer-{}-{name}", process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0);
    }
}

#[test]
fn the_lines_of_a_file_are_each_read_once() {
    let texts = [
        "",
        "\n",
        "one",
        "one\n",
        "one\r\ntwo\n\nfour",
        "\n\n\n\n\n",
        "a line that is longer than all others are together\nb\nc\n",
    ];
    in_runtime(3, move || {
        let file = Scratch::new("lines");
        let many: String = (0..5000).map(|number| format!("{number}\n")).collect();
        for text in texts.into_iter().chain([many.as_str()]) {
            fs::write(&file.0, text).unwrap();
            let lines = DistVec::from_lines(&file.0).unwrap();
            assert!(lines.to_vec().iter().eq(text.lines().collect::<Vec<_>>().iter()), "{text:?}");
        }
    });
}

#[test]
fn nodes_read_and_write_their_parts_of_a_file() {
    on_nodes(2, 2, || {
        let file = Scratch::new(&format!("nodes-{:?}", std::thread::current().id()));
        for len in [0, 1, 7, 3_000_000] {
            let numbers = DistVec::from_fn(len, const { |index: usize| index as u32 * 3 });
            numbers.to_file(&file.0).unwrap();
            assert_eq!(fs::metadata(&file.0).unwrap().len(), 4 * len as u64);
            let read = DistVec::<u32>::from_file(&file.0).unwrap();
            let wrong = const { |index: usize, number: &u32| usize::from(*number != index as u32 * 3) };
            assert_eq!(read.par_map_reduce(wrong, const { |one, other| one + other }).unwrap_or(0), 0);
        }
        fs::write(&file.0, "one\ntwo\nthree\n").unwrap();
        assert_eq!(DistVec::from_lines(&file.0).unwrap().to_vec(), ["one", "two", "three"]);
    });
}

#[test]
fn a_vector_in_any_layout_is_written_in_order() {
    in_runtime(2, || {
        let file = Scratch::new("layouts");
        for layout in layouts(100) {
            let numbers = DistVec::from_vec(layout, (0..100_u8).collect());
            numbers.to_file(&file.0).unwrap();
            assert!(fs::read(&file.0).unwrap().into_iter().eq(0..100));
        }
    });
}

#[test]
fn what_a_file_cannot_be_is_said_with_its_name_and_node() {
    in_runtime(2, || {
        let file = Scratch::new("wrong");
        for error in
            [DistVec::from_lines(&file.0).unwrap_err(), DistVec::<u8>::from_file(&file.0).unwrap_err()]
        {
            let text = error.to_string();
            assert!(
                error.kind() == ErrorKind::NotFound && text.contains("-wrong on node 0: No such file"),
                "{text}"
            );
        }
        fs::write(&file.0, b"good\nbad \xff\n").unwrap();
        let error = DistVec::from_lines(&file.0).unwrap_err();
        assert!(
            error.kind() == ErrorKind::InvalidData
                && error.to_string().contains("the line at byte 5 is not UTF-8"),
            "{error}"
        );
        let error = DistVec::<u32>::from_file(&file.0).unwrap_err();
        assert!(error.to_string().contains("11 bytes are not whole values of 4 each"), "{error}");
        let numbers = DistVec::filled(Layout::cyclic(3), 1_u64);
        let error = numbers.to_file(file.0.join("below")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotADirectory);
    });
}

#[test]
fn a_vector_goes_through_a_stream_to_another_node_whatever_its_layout() {
    on_nodes(2, 2, || {
        let there = *Trustee::all().last().unwrap();
        for (len, is_cyclic) in [(0, false), (1, true), (7, false), (1_500_001, true), (1_500_001, false)] {
            let of = |is_cyclic| if is_cyclic { Layout::cyclic(len) } else { Layout::block(len) };
            let numbers =
                DistVec::from_fn(of(is_cyclic), const { |index: usize| [index as u32, !(index as u32)] });
            let (send, receive) =
                stream::channel(Trustee::here(), there, 8 * len as u64, Geometry::default()).unwrap();
            let receiving = spawn_on_with(
                there,
                const {
                    |(receive, layout): (ReceiveEnd, (usize, bool))| {
                        let mut receiver = receive.open().unwrap();
                        let layout =
                            if layout.1 { Layout::cyclic(layout.0) } else { Layout::block(layout.0) };
                        let numbers = DistVec::<[u32; 2]>::from_reader(layout, &mut receiver).unwrap();
                        receiver.finish().unwrap();
                        numbers
                    }
                },
                (receive, (len, !is_cyclic)),
            );
            let mut sender = send.open().unwrap();
            numbers.to_writer(&mut sender).unwrap();
            sender.finish().unwrap();
            let arrived = receiving.join();
            assert_eq!(arrived.len(), len);
            let wrong = const {
                |index: usize, pair: &[u32; 2]| usize::from(*pair != [index as u32, !(index as u32)])
            };
            assert_eq!(arrived.par_map_reduce(wrong, const { |one, other| one + other }).unwrap_or(0), 0);
        }
    });
}

#[test]
fn what_is_missing_of_a_vector_is_told_and_what_follows_is_left_to_be_read() {
    in_runtime(2, || {
        let mut bytes: &[u8] = &[1, 0, 2, 0, 3, 0, 4];
        let error = DistVec::<u16>::from_reader(4, bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert!(error.to_string().contains("reading elements 0..4 of 4: "), "{error}");
        assert_eq!(DistVec::<u16>::from_reader(2, &mut bytes).unwrap().to_vec(), [1, 2]);
        assert_eq!(bytes, [3, 0, 4]);
        let mut short = [0; 3];
        let error = DistVec::filled(2, 1_u16).to_writer(&mut short[..]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WriteZero);
    });
}

#[test]
fn what_is_no_regular_file_is_not_read() {
    in_runtime(2, || {
        let kernels = "/proc/self/status";
        for path in ["/", "/dev/null", "/dev/zero", kernels] {
            let errors =
                [DistVec::from_lines(path).unwrap_err(), DistVec::<u8>::from_file(path).unwrap_err()];
            for error in errors {
                assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
                let why = if path == kernels { "says that its length is 0" } else { "not a regular file" };
                assert!(error.to_string().contains(&format!("{path} on node 0: it ")), "{error}");
                assert!(error.to_string().contains(why), "{error}");
            }
        }
    });
}

#[test]
fn lines_that_are_added_while_a_file_is_read_hide_no_others() {
    in_runtime(2, || {
        let file = Scratch::new("growing");
        let old: String = (0..1000).map(|number| format!("{number}\n")).collect();
        fs::write(&file.0, &old).unwrap();
        let (path, all) = (file.0.clone(), Trustee::all());
        // The second worker reads its part after the file has grown.
        let busy = spawn_on_with(
            all[1],
            const {
                |path: PathBuf| {
                    std::thread::sleep(Duration::from_millis(50));
                    let mut file = fs::File::options().append(true).open(path).unwrap();
                    file.write_all("more\n".repeat(500).as_bytes()).unwrap();
                }
            },
            path,
        );
        let lines = DistVec::from_lines(&file.0).unwrap().to_vec();
        busy.join();
        assert!(
            lines.iter().eq(old.lines().collect::<Vec<_>>().iter()) || lines.len() == 1500,
            "{}",
            lines.len()
        );
    });
}
