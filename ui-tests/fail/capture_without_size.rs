//! A capture without a size: it may be a proof of something that holds here only.

struct Ready(());

fn ready() -> Ready {
    Ready(())
}

#[gossamer::main]
fn main() {
    let number = gossamer::entrust(0_u64);
    let ready = ready();
    number.apply(move |number| {
        let Ready(()) = ready;
        *number += 1;
    });
}
