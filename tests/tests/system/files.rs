//! `gossamer::fs`: files as those of `std`, in fibers.

use gossamer::fs::{self, File};
use gossamer::spawn_with;
use integration_tests::{in_runtime, panic_text, watched};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A directory for one test, which is removed with this value.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn of(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn whole_files_and_directories_are_handled_by_the_names_of_std() {
    in_runtime(1, || {
        let place = Place::new();
        fs::create_dir_all(place.of("a/b")).unwrap();
        fs::write(place.of("a/one"), b"text").unwrap();
        assert_eq!(fs::read(place.of("a/one")).unwrap(), b"text");
        assert_eq!(fs::copy(place.of("a/one"), place.of("a/two")).unwrap(), 4);
        fs::rename(place.of("a/two"), place.of("a/b/two")).unwrap();
        assert_eq!(fs::read_to_string(place.of("a/b/two")).unwrap(), "text");
        assert_eq!(fs::metadata(place.of("a/one")).unwrap().len(), 4);
        fs::symlink("one", place.of("a/link")).unwrap();
        assert!(fs::symlink_metadata(place.of("a/link")).unwrap().is_symlink());
        assert_eq!(fs::read_link(place.of("a/link")).unwrap(), PathBuf::from("one"));
        let entries = fs::read_dir(place.of("a")).unwrap().map(Result::unwrap);
        let mut entries: Vec<_> =
            entries.map(|entry| (entry.file_name(), entry.file_type().unwrap().is_dir())).collect();
        entries.sort();
        assert_eq!(entries, [("b".into(), true), ("link".into(), false), ("one".into(), false)]);
        fs::remove_file(place.of("a/one")).unwrap();
        assert!(!fs::exists(place.of("a/one")).unwrap());
        assert_eq!(fs::read(place.of("a/one")).unwrap_err().kind(), std::io::ErrorKind::NotFound);
        fs::remove_dir_all(place.of("a")).unwrap();
    });
}

#[test]
fn a_directory_of_many_entries_is_read_to_its_end() {
    in_runtime(1, || {
        let place = Place::new();
        for number in 0..1000 {
            std::fs::write(place.of(&number.to_string()), "").unwrap();
        }
        let names = fs::read_dir(&place.0).unwrap().map(|entry| entry.unwrap().file_name());
        let mut numbers: Vec<usize> = names.map(|name| name.to_str().unwrap().parse().unwrap()).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..1000));
    });
}

#[test]
fn small_reads_are_served_from_what_was_read_ahead_and_writes_go_where_the_reader_is() {
    in_runtime(1, || {
        let place = Place::new();
        std::fs::write(place.of("f"), "abcdefgh").unwrap();
        let mut file = File::options().read(true).write(true).open(place.of("f")).unwrap();
        let mut two = [0; 2];
        file.read_exact(&mut two).unwrap();
        assert_eq!((&two, file.stream_position().unwrap()), (b"ab", 2));
        file.write_all(b"CD").unwrap();
        assert_eq!(std::fs::read_to_string(place.of("f")).unwrap(), "abCDefgh", "it is written at once");
        file.read_exact(&mut two).unwrap();
        assert_eq!(&two, b"ef");
        assert_eq!(file.seek(SeekFrom::Current(-4)).unwrap(), 2);
        let mut rest = String::new();
        file.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "CDefgh");
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_exact(&mut two).unwrap();
        let mut std = file.into_std().unwrap();
        std.read_exact(&mut two).unwrap();
        assert_eq!(&two, b"CD", "it goes on where the fiber has read to");
    });
}

#[test]
fn a_large_file_is_written_and_read_in_parts_of_any_size() {
    in_runtime(1, || {
        let place = Place::new();
        let bytes: Vec<u8> =
            (0..5_000_003_u32).map(|index| (index ^ index >> 8 ^ index >> 16) as u8).collect();
        File::create(place.of("f")).unwrap().write_all(&bytes).unwrap();
        let (mut file, mut read) = (File::open(place.of("f")).unwrap(), Vec::new());
        let mut random = fastrand::Rng::with_seed(7);
        loop {
            let mut part = vec![0; [1, 10, 1000, 100_000, 3_000_000][random.usize(..5)]];
            let length = file.read(&mut part).unwrap();
            read.extend_from_slice(&part[..length]);
            if length == 0 {
                break;
            }
        }
        assert!(read == bytes);
        let mut three = [0; 3];
        assert_eq!(file.read_at(&mut three, 5_000_000).unwrap(), 3);
        assert_eq!(three, bytes[5_000_000..]);
    });
}

#[test]
fn a_pipe_is_read_and_written_by_one_file() {
    in_runtime(1, || {
        let place = Place::new();
        make_fifo(&place.of("fifo"));
        let mut both = File::options().read(true).write(true).open(place.of("fifo")).unwrap();
        both.write_all(b"12").unwrap();
        let mut byte = [0];
        both.read_exact(&mut byte).unwrap();
        both.write_all(b"3").unwrap();
        let mut rest = [0; 2];
        both.read_exact(&mut rest).unwrap();
        assert_eq!((&byte, &rest), (b"1", b"23"));
    });
}

fn make_fifo(path: &std::path::Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_file_goes_to_a_fiber_of_another_worker_and_serves_threads() {
    let place = Place::new();
    let path = place.of("f");
    std::fs::write(&path, "one\ntwo\n").unwrap();
    let threads = path.clone();
    in_runtime(2, move || {
        let file = File::open(path).unwrap();
        let count = gossamer::spawn_on_with(
            gossamer::Trustee::all()[1],
            |file: File| BufReader::new(file).lines().count(),
            file,
        );
        assert_eq!(count.join(), 2);
    });
    watched(move || assert_eq!(fs::read_to_string(threads).unwrap(), "one\ntwo\n"));
}

#[test]
fn a_delegated_closure_reads_no_file() {
    in_runtime(1, || {
        let property = gossamer::entrust(0_u64);
        let text = panic_text(|| property.apply(|_| fs::read("/dev/null").is_ok()));
        assert!(text.contains("blocking `fs::read` inside a delegated closure"), "{text}");
        let other = spawn_with(|path: String| fs::read(path).unwrap().len(), "/dev/null".to_owned());
        assert_eq!(other.join(), 0);
    });
}
