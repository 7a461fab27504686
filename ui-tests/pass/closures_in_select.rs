//! Closures in the arms of `select!` are delegated closures, and what arms use and bind is known.
#![deny(warnings)]

use std::time::Duration;

use gossamer::{Trust, select, sleep_async, sync::mpsc};

#[gossamer::main(threads = 2)]
fn main() {
    let total = gossamer::entrust(1u64);
    let (by, long) = (3, Duration::from_secs(60));

    // In futures, conditions and handlers.
    let sum = select! { sum = total.apply_async(|total| *total + by) => sum, _ = sleep_async(long) => 0 };
    assert_eq!(sum, 4);
    let sum = gossamer::select! {
        biased;
        _ = sleep_async(long), if total.apply(|total| *total > by) => 0,
        number = async { 5 } => { total.apply(move |total| *total += number + by); number }
        _ = sleep_async(long) => 0,
    };
    assert_eq!((sum, total.apply(|total| *total)), (5, 9));
    let none = false;
    let sum = select! { _ = sleep_async(long), if none => 0, else => total.apply(|total| *total + by) };
    assert_eq!(sum, 12);

    // In loops and fibers, where an arm may leave the function.
    let (sender, mut receiver) = mpsc::channel(8);
    let feeding = gossamer::spawn(move || (0..4).for_each(|number| sender.send(number).unwrap()));
    assert_eq!(take(&total, &mut receiver), Some(15));
    feeding.join();
    let fiber = gossamer::spawn({
        let total = total.clone();
        move || select! { sum = total.apply_async(|total| *total + by) => sum + by }
    });
    assert_eq!(fiber.join(), 21);

    // A closure in a variable.
    let add = move |total: &mut u64| {
        *total += by;
        *total
    };
    assert_eq!(select! { sum = total.apply_async(add) => sum + total.apply(add) }, 18 + 21);
}

#[gossamer::delegate]
fn take(total: &Trust<u64>, numbers: &mut mpsc::Receiver<u64>) -> Option<u64> {
    loop {
        select! {
            number = numbers.recv_async() => match number {
                Some(number) => total.apply(|total| *total += number),
                None => return Some(total.apply(|total| *total)),
            },
            _ = sleep_async(Duration::from_secs(60)) => None?,
        }
    }
}
