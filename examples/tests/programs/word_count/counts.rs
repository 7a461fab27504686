//! The counts equal those of the pipeline, whatever the text is and however it is read.

use super::{all_counts, file, noise, pipeline, text_of_this_machine, word_count};
use crate::child::{run, run_with_input};
use std::fs;
use std::path::PathBuf;

/// More than the program gives to one fiber at a time, from a file and from a stream.
const PIECE: usize = 4 << 20;

/// Compares the counts, read as files by several numbers of threads and as a stream, with the pipeline's.
#[track_caller]
fn counted_as_by_the_pipeline(files: &[PathBuf]) {
    let expected = pipeline(files);
    for threads in ["1", "2", "5"] {
        let counts = all_counts(files, threads).well();
        assert!(counts == expected, "on {threads} threads the counts differ");
    }
    // A stream of all files gives the pipeline's counts, too; each file is followed by a line end.
    let mut stream = Vec::new();
    for path in files {
        stream.extend(fs::read(path).unwrap());
        stream.push(b'\n');
    }
    let counts = run_with_input(&mut word_count(["--top=0", "-"]), stream).well();
    assert!(counts == expected, "from a stream the counts differ");
}

#[test]
fn real_text_is_counted_as_by_the_pipeline() {
    counted_as_by_the_pipeline(&text_of_this_machine());
}

#[test]
fn a_large_file_is_counted_as_by_the_pipeline() {
    let mut text = Vec::new();
    for path in text_of_this_machine().iter().cycle() {
        text.extend(fs::read(path).unwrap());
        if text.len() > 3 * PIECE {
            break;
        }
    }
    counted_as_by_the_pipeline(&[file("large", "text", &text)]);
}

#[test]
fn bytes_that_are_no_text_are_counted_as_by_the_pipeline() {
    let noise = noise(PIECE + 12_345);
    let latin1 = b"\xc4pfel und \xd6l, \xff\xfe\x80 na\xefve NA\xefVE\0na\xefve";
    counted_as_by_the_pipeline(&[file("no_text", "noise", &noise), file("no_text", "latin1", latin1)]);
}

#[test]
fn a_word_across_a_boundary_is_counted_once() {
    // At every boundary that matters, whatever the sizes are: they are powers of two, and this word is nine bytes long.
    let mut text = vec![b' '; 3 * PIECE];
    let step = 32 * 1024;
    for boundary in (step..text.len()).step_by(step) {
        text[boundary - 4..boundary + 5].copy_from_slice(b"Straddler");
    }
    let expected = format!("{:>7} straddler\n", 3 * PIECE / step - 1);
    let path = file("boundary", "text", &text);
    for threads in ["1", "2", "5"] {
        assert_eq!(all_counts(std::slice::from_ref(&path), threads).well(), expected.as_bytes());
    }
    assert_eq!(run_with_input(&mut word_count(["-"]), text).well(), expected.as_bytes());
}

#[test]
fn words_at_the_ends_of_pieces_are_counted_once() {
    // Each word begins right at a boundary, or ends right before one.
    for (offset, name) in [(0, "begins"), (4, "ends")] {
        let mut text = vec![b'-'; 3 * PIECE];
        for boundary in (PIECE / 2..text.len()).step_by(PIECE / 2) {
            text[boundary - offset..][..4].copy_from_slice(b"word");
        }
        let path = file("ends", name, &text);
        assert_eq!(all_counts(&[path], "2").well(), b"      5 word\n", "{name} at the boundary");
    }
}

#[test]
fn of_a_very_long_word_only_the_beginning_counts_and_the_user_is_told() {
    let long = vec![b'X'; 2 * PIECE + 12_345];
    let text = [b"short ".as_slice(), &long, b" short ", &long, b"y short"].concat();
    let path = file("long", "text", &text);
    let expected = pipeline(std::slice::from_ref(&path));
    assert!(expected.starts_with(b"      3 short\n      2 xxx"));
    let ended = [
        all_counts(std::slice::from_ref(&path), "1"),
        all_counts(std::slice::from_ref(&path), "3"),
        run_with_input(&mut word_count(["-"]), text),
    ];
    for ended in ended {
        assert!(ended.output == expected, "the counts differ");
        let note = "word_count: of 2 very long words only the first 65536 bytes count\n";
        assert_eq!((ended.status, ended.errors.as_str()), (Some(0), note));
    }
}

#[test]
fn the_most_frequent_come_first_and_equals_by_their_bytes() {
    let path = file("top", "text", "b B b c a \u{e9} z9 Z9 a d c".as_bytes());
    let all = ["      3 b", "      2 a", "      2 c", "      2 z9", "      1 d", "      1 \u{e9}"];
    for (top, most) in
        [("1", 1), ("2", 2), ("3", 3), ("4", 4), ("5", 5), ("6", 6), ("100", 6), ("0", 6), ("all", 6)]
    {
        let output = run(word_count(["-n", top]).arg(&path)).well();
        assert_eq!(String::from_utf8(output).unwrap(), all[..most].join("\n") + "\n", "the first {top}");
    }
}

#[test]
fn twenty_words_are_printed_unless_another_number_is_given() {
    let files = text_of_this_machine();
    let all = all_counts(&files, "2").well();
    let first: Vec<&[u8]> = all.split_inclusive(|byte| *byte == b'\n').take(20).collect();
    assert_eq!(run(word_count::<&str>([]).args(&files)).well(), first.concat());
}

#[test]
fn a_word_ends_with_its_file() {
    let files = [file("file_ends", "1", b"half"), file("file_ends", "2", b"way half")];
    assert_eq!(all_counts(&files, "2").well(), b"      2 half\n      1 way\n");
    assert_eq!(all_counts(&[&files[..], &files].concat(), "2").well(), b"      4 half\n      2 way\n");
}
