//! A pipeline over streams: numbers are made by one worker, squared by the next and added up by a third, block by block as memory. On
//! several nodes each stage is on a node of its own.
//!
//! `cargo run --release -p examples --bin pipeline -- 100000000`; `gossamer run --local 3 -- target/release/pipeline 100000000`.

use gossamer::stream::{self, Error, Geometry, ReceiveEnd, SendEnd};
use gossamer::{rack, spawn_on};

#[gossamer::main]
fn main() -> Result<(), String> {
    let count = std::env::args().nth(1).unwrap_or_else(|| "10000000".to_owned());
    let count: u64 = count.parse().map_err(|error| format!("{count}: {error}"))?;
    // A worker of each node in turn.
    let nodes = rack::nodes();
    let worker = |stage: usize| {
        let workers = nodes[stage % nodes.len()].workers();
        workers[stage / nodes.len() % workers.len()]
    };
    let stages = [0, 1, 2].map(worker);
    let between = |from: usize| {
        stream::channel(stages[from], stages[from + 1], 8 * count, Geometry::default()).map_err(text)
    };
    let ((made, to_square), (squared, to_add)) = (between(0)?, between(1)?);
    let making = spawn_on(stages[0], move || make(made).map_err(text));
    let squaring = spawn_on(stages[1], move || square(to_square, squared).map_err(text));
    let adding = spawn_on(stages[2], move || add(to_add).map_err(text));
    making.join()?;
    squaring.join()?;
    println!("{}", adding.join()?);
    Ok(())
}

fn text(error: Error) -> String {
    error.to_string()
}

fn make(made: SendEnd) -> Result<(), Error> {
    let (mut made, mut next) = (made.open()?, 0);
    while let Some(mut block) = made.next_block()? {
        for number in block.typed::<u64>()? {
            *number = next;
            next += 1;
        }
    }
    made.finish()
}

fn square(numbers: ReceiveEnd, squared: SendEnd) -> Result<(), Error> {
    let (mut numbers, mut squared) = (numbers.open()?, squared.open()?);
    while let Some(block) = numbers.next_block()? {
        let Some(mut squares) = squared.next_block()? else { break };
        for (square, number) in squares.typed::<u64>()?.iter_mut().zip(block.typed::<u64>()?) {
            *square = number.wrapping_mul(*number);
        }
    }
    numbers.finish()?;
    squared.finish()
}

fn add(squared: ReceiveEnd) -> Result<u64, Error> {
    let (mut squared, mut sum) = (squared.open()?, 0_u64);
    squared.for_each_slice(|squares: &[u64]| {
        sum = squares.iter().fold(sum, |sum, square| sum.wrapping_add(*square));
    })?;
    squared.finish()?;
    Ok(sum)
}
