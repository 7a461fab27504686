//! `self` cannot be captured; one error for each closure that does.

use gossamer::Trust;

struct Counter {
    total: Trust<u64>,
    step: u64,
}

impl Counter {
    #[gossamer::delegate]
    fn count(&self) {
        self.total.apply(|total| *total += self.step + self.step);
        self.total.apply_then(move |total| println!("{}", *total + self.step), |()| ());
    }
}

fn main() {
    let counter = Counter { total: gossamer::entrust(0), step: 1 };
    counter.count();
}
