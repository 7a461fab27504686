//! A capture that is used only by a delegated closure inside the delegated closure.

#[gossamer::main]
fn main() {
    let outer = gossamer::entrust(0usize);
    let inner = gossamer::entrust(0usize);
    let text = "text";
    outer.apply(move |_| inner.apply_then(move |inner| *inner += text.len(), |()| ()));
}
