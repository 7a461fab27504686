//! A file from one process to another over loopback, by whole programs, from their start to their end.

mod copies;
mod gossamer;

pub use copies::{mbuffer, nc, rsync, socat};
pub use gossamer::{gossamer, gossamer_plain};

use crate::measure::{Sample, Setting};
use std::fs::File;
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How many bytes count as one operation.
pub const MIB: usize = 1 << 20;
/// MiB of the file.
const SIZE: usize = 512;

/// The folder of a transfer; removed with this value.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        let place = std::env::temp_dir().join(format!("gossamer-table-{}", std::process::id()));
        let made = std::fs::create_dir_all(place.join("into"));
        assert!(made.is_ok(), "no place for files: {made:?}");
        Self(place)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Times `transfer` of a file, which is in memory, to `/dev/null` or to a file that is on disk in the end, as the
/// setting says.
fn timed(setting: &Setting, transfer: impl FnOnce(&Place, &str)) -> Sample {
    let place = Place::new();
    let from = place.path("file");
    write(Path::new(&from));
    let to = if setting.to_disk { place.path("into/file") } else { "/dev/null".to_owned() };
    let (start, cpu) = (Instant::now(), of_children());
    transfer(&place, &to);
    if setting.to_disk {
        let file = File::open(&to).and_then(|file| file.sync_all().and_then(|()| file.metadata()));
        assert!(file.is_ok_and(|file| file.len() == (SIZE * MIB) as u64), "the file did not arrive");
    }
    let seconds = start.elapsed().as_secs_f64();
    Sample::new(SIZE as u64, seconds, (of_children() - cpu).as_secs_f64())
}

/// Bytes in which no two pages are equal.
fn write(path: &Path) {
    let mut file = File::create(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut number = 0_u64;
    for _ in 0..SIZE {
        let numbers = std::iter::repeat_with(|| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            number.to_ne_bytes()
        });
        let block: Vec<u8> = numbers.take(MIB / 8).flatten().collect();
        file.write_all(&block).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

fn port() -> String {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    port.unwrap_or_else(|error| panic!("no port: {error}")).port().to_string()
}

/// Processor time of the children that have ended.
fn of_children() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the place is writable.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) };
    // SAFETY: zeros are a valid value, so it is initialised whatever the call did.
    let usage = unsafe { usage.assume_init() };
    let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    time(usage.ru_utime) + time(usage.ru_stime)
}
