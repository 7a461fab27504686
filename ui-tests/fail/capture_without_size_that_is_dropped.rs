//! A capture without a size would never be dropped if its request were refused.

struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {}
}

fn main() {
    gossamer::run(gossamer::Config::default(), || {
        let number = gossamer::entrust(0_u64);
        let guard = Guard;
        number.apply(move |number| {
            let _held = &guard;
            *number += 1;
        });
    });
}
