//! Methods called `apply` of other types: with a closure that captures nothing, by path, or with the closure in a variable.
#![deny(warnings)]

struct Number(u64);

impl Number {
    fn apply(&self, f: impl Fn(u64) -> u64) -> u64 {
        f(self.0)
    }
}

#[gossamer::main]
fn main() {
    let n = 5;
    assert_eq!(Number(1).apply(|number| number + 1), 2);
    assert_eq!(Number::apply(&Number(1), |number| number + n), 6);
    let add = |number| number + n;
    assert_eq!(Number(1).apply(add), 6);
}
