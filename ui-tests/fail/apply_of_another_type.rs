//! A method called `apply` of a type that is not a trust: call it by its path, or put the closure in a variable.

struct Number(u64);

impl Number {
    fn apply(&self, f: impl Fn(u64) -> u64) -> u64 {
        f(self.0)
    }
}

#[gossamer::main]
fn main() {
    let n = 5;
    Number(1).apply(|number| number + n);
}
