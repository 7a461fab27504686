//! A delegated closure that returns a reference.

#[gossamer::main]
fn main() {
    let names = gossamer::entrust(vec!["name"]);
    let n = 0;
    names.apply(|names| names[0]);
    names.apply(move |names| names[n]);
}
