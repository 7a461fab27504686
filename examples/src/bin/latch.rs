//! A latch: the closure that was launched has the value until it ends, also while it waits for others.
//!
//! `cargo run --release -p examples --bin latch`

use gossamer::{Latch, Trustee};

#[gossamer::main]
fn main() {
    let trustees = Trustee::all();
    let prices = trustees[trustees.len() - 1].entrust(vec![3_u64, 5, 7]);
    let purse = gossamer::entrust(Latch::new(100_u64));
    let mut buyers = Vec::new();
    for buyer in 0..30_usize {
        let (prices, purse) = (prices.clone(), purse.clone());
        buyers.push(gossamer::spawn(move || {
            purse.launch(move |coins| {
                // Waits for another worker. Nobody else sees the purse meanwhile, so it is never overdrawn.
                let price = prices.apply(move |prices| prices[buyer % 3]);
                let is_enough = *coins >= price;
                *coins -= if is_enough { price } else { 0 };
                is_enough
            })
        }));
    }
    let bought = buyers.into_iter().map(|buyer| buyer.join()).filter(|bought| *bought).count();
    let left = purse.launch(|coins| *coins);
    println!("{}", if bought < 30 && left < 7 { "spent all but some coins" } else { "that cannot be" });
}
