//! A closure that is written as a constant, and captures all the same: rustc says so.

struct Ready(());

fn main() {
    gossamer::run(gossamer::Config::default(), || {
        let number = gossamer::entrust(0_u64);
        let ready = Ready(());
        number.apply(const {
            move |number| {
                let Ready(()) = ready;
                *number += 1;
            }
        });
    });
}
