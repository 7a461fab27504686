//! A capture of a `MutexGuard`.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0u64);
    let mutex = std::sync::Mutex::new(5u64);
    let guard = mutex.lock().unwrap();
    total.apply(move |total| {
        *total += 1;
        let _ = *guard;
    });
}
