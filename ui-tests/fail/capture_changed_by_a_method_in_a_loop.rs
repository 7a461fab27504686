//! All calls of a loop's closure share what it captures, so none can call a method that changes it.

use gossamer::collections::par_for_each;

#[derive(Clone, Default, gossamer::NoRef)]
struct Statistics {
    sum: usize,
}

impl Statistics {
    fn add(&mut self, number: usize) {
        self.sum += number;
    }
}

#[gossamer::main]
fn main() {
    let mut statistics = Statistics::default();
    par_for_each(0..10, |number| statistics.add(number));
    let mut others = Statistics::default();
    par_for_each(0..10, move |number| others.add(number));
}
