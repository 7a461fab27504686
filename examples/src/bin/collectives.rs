//! Collectives: a fiber on each worker, which wait for each other and combine their values; and the same for nodes.
//!
//! `cargo run --release -p examples --bin collectives`; `gossamer run --local 4 -- target/release/collectives`.

use gossamer::{TeamMember, Workers, rack};

/// Adds up its share of the numbers below 1,000,000, and then all shares.
fn add_up(member: &TeamMember) -> u64 {
    let share: u64 = (member.index() as u64..1_000_000).step_by(member.count()).sum();
    member.barrier(); // all have computed
    member.all_reduce(share, |one, other| one + other)
}

#[gossamer::main]
fn main() {
    let sums = Workers::all().each(const { add_up });
    println!("every worker knows the sum: {}", sums.iter().all(|sum| *sum == 499_999_500_000));

    let largest = rack::on_each_node(
        |()| {
            let square = rack::this_node().index().pow(2);
            let squares = rack::gather(square);
            rack::barrier();
            rack::all_reduce(square, usize::max) == squares[squares.len() - 1]
        },
        (),
    );
    println!("every node knows the largest square: {}", largest.into_iter().all(|knows| knows));
}
