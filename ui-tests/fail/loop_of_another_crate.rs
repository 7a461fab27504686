//! A bare `par_for_each` that is not gossamer's is not taken for it.

fn par_for_each<F: Fn(usize)>(range: std::ops::Range<usize>, f: F) {
    range.for_each(f);
}

#[gossamer::main]
fn main() {
    let by = 3;
    par_for_each(0..10, |number| println!("{}", number * by));
}
