//! Memory streams of gossamer: raw windows, by each way to be told of faults, and blocks.

use super::apart::between;
use super::iperf::CONGESTION;
use super::{AHEAD, BLOCK, NUMBERS, Sink, Source, on_two_threads};
use crate::measure::{Sample, Setting, Way};
use gossamer::Protection;
use gossamer::stream::{self, Faults, Geometry, Key, Options, Receiver, Route, Sender};

/// Longer than any measurement.
const LENGTH: u64 = 1 << 42;

/// Raw windows whose faults are signals.
pub fn windows_by_signal(setting: &Setting) -> Sample {
    measure(setting, |setting| options(setting, Faults::Signal), fill_window, sum_window)
}

/// Raw windows whose faults go through userfaultfd, so that system calls may use them, too.
pub fn windows_by_userfault(setting: &Setting) -> Sample {
    measure(setting, |setting| options(setting, Faults::Userfault), fill_window, sum_window)
}

/// Blocks, by guards: no faults.
pub fn blocks(setting: &Setting) -> Sample {
    measure(setting, |setting| options(setting, Faults::Auto), fill_blocks, sum_blocks)
}

/// As `blocks`, authenticated.
pub fn blocks_authenticated(setting: &Setting) -> Sample {
    let options = |setting: &Setting| options(setting, Faults::Auto).protection(Protection::Authenticated);
    measure(setting, options, fill_blocks, sum_blocks)
}

/// As `blocks`, encrypted.
pub fn blocks_encrypted(setting: &Setting) -> Sample {
    let options = |setting: &Setting| options(setting, Faults::Auto).protection(Protection::Encrypted);
    measure(setting, options, fill_blocks, sum_blocks)
}

fn options(setting: &Setting, faults: Faults) -> Options {
    let key = Key::from_hex(&"5a".repeat(32)).unwrap_or_else(|error| panic!("{error}"));
    let geometry = Geometry::new().block(BLOCK).ahead(AHEAD).comeback(1);
    let options = Options::from(geometry).key(key).faults(faults).congestion(CONGESTION);
    if setting.way == Way::Memory { options } else { options.route(Route::Tcp) }
}

fn measure(
    setting: &Setting,
    options: fn(&Setting) -> Options,
    produce: fn(Sender),
    consume: fn(Receiver),
) -> Sample {
    if setting.way == Way::Process {
        let (sender, receiver) = done(stream::pair(LENGTH, options(setting)));
        return on_two_threads(setting, move || produce(sender), move || consume(receiver));
    }
    let (ours, theirs) = (options(setting), options(setting));
    between(
        setting,
        |address| produce(done(Sender::connect(address, LENGTH, theirs))),
        |at| {
            let listener = done(Receiver::bind(at, ours));
            let address = done(listener.local_addr());
            (listener, address)
        },
        move |listener| consume(done(listener.accept())),
    )
}

fn done<T>(outcome: Result<T, stream::Error>) -> T {
    outcome.unwrap_or_else(|error| panic!("{error}"))
}

fn fill_window(sender: Sender) {
    let mut window = done(sender.into_window());
    let (start, mut source) = (window.as_mut_ptr().cast::<u64>(), Source::default());
    for block in 0..LENGTH as usize / BLOCK {
        let at = start.wrapping_add(block * NUMBERS);
        // SAFETY: inside the window, which nobody else writes, and in order.
        source.fill(unsafe { std::slice::from_raw_parts_mut(at, NUMBERS) });
    }
}

fn sum_window(receiver: Receiver) {
    let window = done(receiver.into_window());
    let (start, mut sink) = (window.as_ptr().cast::<u64>(), Sink::default());
    for block in 0..LENGTH as usize / BLOCK {
        if !sink.goes_on() {
            break;
        }
        let at = start.wrapping_add(block * NUMBERS);
        // SAFETY: inside the window, in order.
        sink.take(unsafe { std::slice::from_raw_parts(at, NUMBERS) });
    }
    // Dropping it would tell the producer, which may be in the window.
    std::mem::forget(window);
}

fn fill_blocks(mut sender: Sender) {
    let mut source = Source::default();
    while let Ok(Some(mut block)) = sender.next_block() {
        source.fill(done(block.typed()));
    }
}

fn sum_blocks(mut receiver: Receiver) {
    let mut sink = Sink::default();
    while sink.goes_on() {
        let Some(block) = done(receiver.next_block()) else { panic!("the producer is gone") };
        sink.take(done(block.typed()));
    }
}
