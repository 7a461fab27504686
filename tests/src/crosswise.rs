//! Two latches that wait for each other.

use gossamer::{Latch, Trust, Trustee};

/// Launches on a latch and, once that is held, on another one.
#[gossamer::delegate]
fn cross(own: Trust<Latch<u64>>, other: Trust<Latch<u64>>, met: Trust<u8>) {
    own.launch(|value| {
        met.apply(|met| *met += 1);
        while met.apply(|met| *met) < 2 {
            gossamer::yield_now();
        }
        *value += other.launch(|value| *value);
    });
}

/// Makes two fibers launch on two latches, each in another order.
#[gossamer::delegate]
pub fn launch_crosswise(here: Trustee, there: Trustee) {
    let (one, other) = (here.entrust(Latch::new(0_u64)), there.entrust(Latch::new(0_u64)));
    let met = here.entrust(0_u8);
    let (first, second, third) = (one.clone(), other.clone(), met.clone());
    let crossing = gossamer::spawn(|| cross(first, second, third));
    let back = gossamer::spawn(|| cross(other, one, met));
    crossing.join();
    back.join();
}
