//! A capture of a type parameter that is not bounded by `NoRef`.

#[gossamer::delegate]
fn push<T: Send + 'static>(list: &gossamer::Trust<Vec<T>>, value: T) {
    list.apply(move |list| list.push(value));
}

fn main() {
    push(&gossamer::entrust(Vec::new()), 5u64);
}
