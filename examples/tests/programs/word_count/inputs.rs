//! Files that are missing, unreadable, empty or no files at all, and a command line that is wrong.

use super::{DIRECTORIES, all_counts, file, word_count};
use crate::child::{Watched, command, run, run_with_input};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;

/// Runs with and without `--keep-going`, and expects status 1, these errors, and these counts with it only.
#[track_caller]
fn fails(files: &[&str], errors: &[&str], counts: &str) {
    let told =
        |errors: &[&str]| -> String { errors.iter().map(|error| format!("word_count: {error}\n")).collect() };
    for threads in ["1", "2", "5"] {
        let strict = run(word_count(["--threads", threads]).args(files));
        assert_eq!(
            (strict.status, strict.errors.as_str(), strict.text()),
            (Some(1), &*told(&errors[..1]), "")
        );
        let lenient = run(word_count(["--keep-going", "--threads", threads]).args(files));
        assert_eq!(
            (lenient.status, lenient.errors.as_str(), lenient.text()),
            (Some(1), &*told(errors), counts)
        );
    }
}

#[test]
fn a_missing_file_is_named_and_the_rest_counted_on_request() {
    let good = file("missing", "good", b"to be or not to be");
    let good = good.to_str().unwrap();
    let error = |name| format!("{name}: No such file or directory (os error 2)");
    fails(&["no_such_file"], &[&error("no_such_file")], "");
    let counts = "      2 be\n      2 to\n      1 not\n      1 or\n";
    fails(&["nowhere/a", good, "nowhere/b"], &[&error("nowhere/a"), &error("nowhere/b")], counts);
}

#[test]
fn a_directory_is_no_file() {
    let good = file("directory", "good", b"words");
    fails(&["/usr", good.to_str().unwrap()], &["/usr: is a directory"], "      1 words\n");
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_the_reason() {
    // It can be opened, but there is nothing at its beginning.
    let good = file("unreadable", "good", b"words");
    let error = "/proc/self/mem: Input/output error (os error 5)";
    fails(&[good.to_str().unwrap(), "/proc/self/mem"], &[error], "      1 words\n");
}

#[test]
fn a_file_that_may_not_be_read_is_named_with_the_reason() {
    use std::os::unix::fs::PermissionsExt;
    let path = file("forbidden", "file", b"secret words");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if File::open(&path).is_ok() {
        // The superuser may read everything.
        return;
    }
    let name = path.to_str().unwrap();
    fails(&[name], &[&format!("{name}: Permission denied (os error 13)")], "");
}

#[test]
fn nothing_to_count_is_no_error() {
    let empty = file("empty", "file", b"");
    let separators = file("empty", "separators", b"\0 .,\n\n;'\"-_");
    assert_eq!(all_counts(&[empty, separators, "/dev/null".into()], "2").well(), b"");
    assert_eq!(run_with_input(&mut word_count(["-"]), Vec::new()).well(), b"");
}

#[test]
fn files_that_the_kernel_makes_up_are_read() {
    let path = PathBuf::from("/proc/version");
    let copy = file("kernel", "copy", &fs::read(&path).unwrap());
    assert_eq!(all_counts(&[path], "2").well(), all_counts(&[copy], "2").well());
}

#[test]
fn the_standard_input_is_one_of_the_files_and_is_read_once() {
    let path = file("stdin", "file", b"to be");
    let mut command = word_count(["-", "--", "-"]);
    assert_eq!(run_with_input(command.arg(&path), b"or not to".to_vec()).well(), {
        b"      2 to\n      1 be\n      1 not\n      1 or\n"
    });
}

#[test]
fn named_pipes_are_read_one_after_the_other() {
    let pipes = ["first", "second"].map(|name| Path::new(DIRECTORIES).join(format!("pipe_{name}")));
    for pipe in &pipes {
        let _absent = fs::remove_file(pipe);
        run(command("mkfifo").arg(pipe)).well();
    }
    let between = file("pipes", "file", b"file");
    let writers: Vec<_> =
        pipes.clone().into_iter().map(|pipe| thread::spawn(|| write_slowly(pipe))).collect();
    let [first, second] = &pipes;
    let output = run(word_count(["-t2"]).args([first, &between, second])).well();
    assert_eq!(output, b"      6 written\n      2 slowly\n      1 file\n");
    writers.into_iter().for_each(|writer| writer.join().unwrap());
}

/// Writes to a pipe in bits, of which some end within a word.
fn write_slowly(pipe: PathBuf) {
    let mut pipe = OpenOptions::new().write(true).open(pipe).unwrap();
    for bit in ["writ", "ten ", "written written", " slow", "ly"] {
        pipe.write_all(bit.as_bytes()).unwrap();
        thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_program_quietly() {
    let words: String = (0..200_000).map(|number| format!("word{number}\n")).collect();
    let path = file("enough", "words", words.as_bytes());
    let mut child = Watched::start(word_count(["-n", "all"]).arg(path));
    let mut first = [0; 14];
    let mut output = child.0.stdout.take().unwrap();
    output.read_exact(&mut first).unwrap();
    drop(output);
    assert_eq!(&first, b"      1 word0\n");
    assert_eq!(child.wait().code(), Some(0));
    let mut errors = String::new();
    child.0.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(errors, "");
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    let path = file("full", "words", b"words");
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut child = Watched::start(word_count([path]).stdout(Stdio::from(full)));
    assert_eq!(child.wait().code(), Some(1));
    let mut errors = String::new();
    child.0.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(errors, "word_count: standard output: No space left on device (os error 28)\n");
}

#[test]
fn a_wrong_command_line_has_a_status_of_its_own() {
    for (arguments, told) in [
        (["--no-such-option", "file"].as_slice(), "--no-such-option"),
        (&[], "<FILES>"),
        (&["--top", "many", "file"], "it is neither a number nor `all`"),
        (&["--top", "-1", "file"], "-1"),
        (&["--threads", "0", "file"], "0 is not in 1..=4096"),
    ] {
        let ended = run(&mut word_count(arguments));
        assert_eq!((ended.status, ended.text()), (Some(2), ""), "{arguments:?}");
        assert!(ended.errors.contains(told), "{arguments:?}: {}", ended.errors);
    }
    let ended = run(word_count(["/dev/null"]).env("GOSSAMER_THREADS", "many"));
    assert_eq!(ended.status, Some(2));
    assert!(
        ended.errors.starts_with("word_count: ") && ended.errors.contains("GOSSAMER_THREADS"),
        "{ended:?}"
    );
}
