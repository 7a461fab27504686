//! Closures that are put into a variable before they are delegated, and helpers that take them.
#![deny(warnings)]

use gossamer::{NoRef, Trust, Trustee};

#[gossamer::main(threads = 2)]
fn main() {
    let total = Trustee::all()[1].entrust(0_u64);
    let by = 5;
    // With captures that can be copied, as often as wanted.
    let add = move |total: &mut u64| *total += by;
    total.apply(add);
    total.apply_then(add, drop);
    total.apply_async(add).wait();
    assert_eq!(total.apply(|total| *total), 15);

    // With captures that cannot, once.
    let text = String::from("three");
    let length = move |total: &mut u64| {
        *total += text.len() as u64;
        text
    };
    assert_eq!(total.apply(length), "three");

    // It has what there was where it was written.
    let mut number = 1;
    let set = move |total: &mut u64| *total = number;
    number += 1;
    total.apply(set);
    assert_eq!((total.apply(|total| *total), number), (1, 2));

    let (twin, unit) = (total.clone(), 1);
    let work = move || twin.apply(move |total| *total += unit);
    gossamer::spawn(work).join();
    let reset = |total: &mut u64| *total = 0;
    total.apply(reset);

    // What is used otherwise stays a closure.
    let double = |total: &mut u64| *total *= 2;
    let mut own = 4;
    double(&mut own);
    total.apply(double);
    assert_eq!(own, 8);

    helped(&total);
}

/// A helper over any closure takes its captures apart from it.
fn twice<T, A: NoRef + Clone, F>(trust: &Trust<T>, f: F, arguments: A)
where
    F: FnOnce(&mut T, A) + Send + Copy,
{
    trust.apply_with(f, arguments.clone());
    trust.apply_with(f, arguments);
}

#[gossamer::delegate]
fn helped(total: &Trust<u64>) {
    twice(total, const { |total: &mut u64, by| *total += by }, 3);
    twice(total, add_up, vec![1, 2]);
    assert_eq!(total.apply(|total| *total), 12);
}

fn add_up(total: &mut u64, numbers: Vec<u64>) {
    *total += numbers.iter().sum::<u64>();
}
