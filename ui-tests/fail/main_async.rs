//! `#[gossamer::main]` on an `async fn`.

#[gossamer::main]
async fn main() {
    let total = gossamer::entrust(0u64);
    let n = 1;
    total.apply(move |total| *total += n);
}
