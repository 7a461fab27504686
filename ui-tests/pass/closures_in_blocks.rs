//! A closure may stand at the end of a block, such as one that clones what it captures.
#![deny(warnings)]

use gossamer::collections::DistVec;

#[gossamer::main(threads = 2)]
fn main() {
    let total = gossamer::entrust(0u64);
    let name = String::from("abc");

    // The usual way to keep the original.
    let fibers: Vec<_> = (0..3u64)
        .map(|number| {
            gossamer::spawn({
                let total = total.clone();
                move || total.apply(|total| *total += number)
            })
        })
        .collect();
    fibers.into_iter().for_each(|fiber| fiber.join());
    total.apply({
        let name = name.clone();
        move |total| *total += name.len() as u64
    });
    assert_eq!((total.apply(|total| *total), name.as_str()), (6, "abc"));

    // Its statements run when the argument is evaluated, in the function around it.
    assert_eq!(half(&total, 4), Some(5));
    assert_eq!(half(&total, 7), None);

    // Blocks in blocks, copies that change, what captures nothing, and a loop.
    let counted = total.apply({
        let mut count = 1;
        count += 1;
        {
            let more = count;
            move |total: &mut u64| {
                count += more;
                *total + count
            }
        }
    });
    assert_eq!(counted, 9);
    total.apply({
        total.apply(|total| *total += 1);
        |total| *total += 1
    });
    let numbers = DistVec::from_fn(4, {
        let name = name.clone();
        move |index| index + name.len()
    });
    assert_eq!(numbers.par_map_reduce(|_, number| *number, |one, other| one + other), Some(18));
    assert_eq!(total.apply(|total| *total), 7);
}

#[gossamer::delegate]
fn half(total: &gossamer::Trust<u64>, number: u64) -> Option<u64> {
    total.apply({
        let half = number.is_multiple_of(2).then_some(number / 2)?;
        move |total| {
            *total -= 1;
            Some(*total + half - 2)
        }
    })
}
