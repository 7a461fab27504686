//! A closure that is not `move` cannot change what it captures through a method either.

#[derive(Default, gossamer::NoRef)]
struct Statistics {
    sum: u64,
}

impl Statistics {
    fn add(&mut self, number: u64) {
        self.sum += number;
    }
}

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0u64);
    let fixed = Statistics::default();
    total.apply(|total| fixed.add(*total));
    let mut statistics = Statistics::default();
    total.apply(|total| statistics.add(*total));
}
