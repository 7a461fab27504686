//! A closure that panics without ending the program: `try_apply` returns why there is no result, and the property stays
//! usable.
//!
//! `cargo run --release -p examples --bin try_apply`

use gossamer::Reason;

#[gossamer::main]
fn main() {
    let list = gossamer::entrust(vec![1_u64, 2, 3]);
    for index in [2_usize, 7] {
        match list.try_apply(move |list| list[index]) {
            Ok(number) => println!("at {index}: {number}"),
            Err(error) if matches!(error.reason(), Reason::Panicked { .. }) => {
                println!("at {index}: it has panicked")
            }
            Err(error) => println!("at {index}: {error}"),
        }
    }
    println!("{} numbers are still there", list.apply(|list| list.len()));
}
