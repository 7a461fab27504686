//! The derive blames the field at fault, in structs, enums and generic types.

use gossamer::NoRef;
use std::rc::Rc;
use std::sync::Arc;

#[derive(NoRef)]
struct Named {
    good: u64,
    bad: Rc<u64>,
    also_good: String,
}

#[derive(NoRef)]
struct Tuple(u64, Vec<&'static str>);

#[derive(NoRef)]
enum Either<T> {
    Good(T),
    Bad { pointer: *const T },
    Shared(Arc<T>),
}

struct Underived;

#[derive(NoRef)]
struct Outer(Underived);

fn main() {}
