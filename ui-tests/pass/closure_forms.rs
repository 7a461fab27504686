//! The shapes that a delegated closure can have, and the control flow that belongs to it.
#![deny(warnings)]

use std::num::ParseIntError;

#[derive(Default)]
struct Store {
    values: Vec<u64>,
}

#[gossamer::main]
fn main() {
    let store = gossamer::entrust(Store::default());
    let (n, text) = (3u64, String::from("17"));

    let pushed = store.apply(move |store: &mut Store| -> u64 {
        store.values.push(n);
        n
    });
    assert_eq!(pushed, 3);
    assert_eq!(store.apply(|Store { values }| values.len() as u64 + n), 4);
    assert_eq!(store.apply(|store| store.values[0] + n), 6);

    // `?` and `return` belong to the closure.
    let parsed = store.apply(move |store| -> Result<u64, ParseIntError> {
        let value = text.parse::<u64>()?;
        if value > n {
            return Ok(value);
        }
        store.values.push(value);
        Ok(0)
    });
    assert_eq!(parsed, Ok(17));

    // Type arguments, and a trailing comma.
    assert_eq!(store.apply::<u64, _>(|_| n,), 3);
    assert_eq!(store.try_apply(move |store| store.values[0] + n).ok(), Some(6));
    assert_eq!(store.apply_async(move |store| store.values[0] * n).wait(), 9);
    assert_eq!(gossamer::Trust::apply(&store, move |_| n), 3);

    // `async` blocks inside, labels inside, unsafe blocks inside.
    let found = store.apply(move |store| {
        let _future = async move { n };
        'search: loop {
            for value in &store.values {
                if *value == n {
                    break 'search true;
                }
            }
            break false;
        }
    });
    assert!(found);

    // More captures than a tuple that is `NoRef` can have.
    let (a, b, c, d, e, f, g) = (1u64, 2u64, 3u64, 4u64, 5u64, 6u64, 7u64);
    let (h, i, j, k, l, m) = (8u64, 9u64, 10u64, 11u64, 12u64, 13u64);
    assert_eq!(store.apply(move |_| a + b + c + d + e + f + g + h + i + j + k + l + m), 91);

    // Captures of any shape.
    let (unit, array, nested) = ((), [1u8; 40], vec![Some((1, String::from("s")))]);
    let length = store.apply(move |_| {
        let () = unit;
        array.len() + nested.len()
    });
    assert_eq!(length, 41);

    let latched = gossamer::entrust(gossamer::Latch::new(1u64));
    assert_eq!(latched.launch(move |value| *value + n), 4);
    latched.launch_then(move |value| *value * n, |product| assert_eq!(product, 3));
}
