//! `move` closures may change their copies, others may not; both take what they capture by value.
#![deny(warnings)]

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0u64);
    let mut step = 1u64;
    step += 1;
    // Changes the copy, not the variable.
    let changed = total.apply(move |total| {
        step *= 10;
        *total += step;
        step
    });
    assert_eq!((step, changed), (2, 20));

    // A `mut` variable that the closure does not change makes no warning.
    total.apply(move |total| *total += step);
    total.apply(|total| *total += step);
    step += 1;
    assert_eq!(total.apply(|total| *total + step), 27);

    // Only the copy changes: the variable needs its `mut` all the same.
    let mut copied = 1u64;
    let doubled = total.apply(move |_| {
        copied *= 2;
        copied
    });
    assert_eq!((copied, doubled), (1, 2));

    // A closure that owns a buffer may fill it.
    let mut buffer = Vec::new();
    buffer.push(1u64);
    let filled = total.apply(move |total| {
        buffer.push(*total);
        buffer
    });
    assert_eq!(filled, [1, 24]);

    // Assignments to what the closure bound itself.
    let start = 5;
    let sum = total.apply(|total| {
        let mut sum = start;
        sum += *total;
        let view = &mut sum;
        *view += 1;
        sum
    });
    assert_eq!(sum, 30);

    // A variable that is initialised later.
    let late;
    if sum > 3 {
        late = 1;
    } else {
        late = 2;
    }
    total.apply(|total| *total = late);
    assert_eq!(total.apply(|total| *total), 1);
}
