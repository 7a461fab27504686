//! A generic type travels only if its parameter does.

#[derive(gossamer::NoRef)]
struct Wrapper<T>(T);

fn travels<T: gossamer::NoRef>(_: T) {}

fn main() {
    travels(Wrapper(5u64));
    travels(Wrapper("text"));
}
