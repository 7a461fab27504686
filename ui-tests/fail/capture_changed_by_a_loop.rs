//! What the body of a loop captures is the same for each element.

use gossamer::collections::DistVec;

#[gossamer::main]
fn main() {
    let numbers = DistVec::filled(10, 1_u64);
    let mut last = 0;
    numbers.par_for_each(move |_, number| {
        *number += last;
        last = *number;
    });
}
