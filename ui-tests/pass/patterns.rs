//! Every place that binds variables: match arms with guards, `if let`, chains, `let else`, loops, parameters.
#![deny(warnings)]

#[derive(Clone, Copy, gossamer::NoRef)]
enum Order {
    Add(i64),
    Set { to: i64 },
    Clear,
}

use Order::Clear;

#[gossamer::delegate]
fn obey(total: &gossamer::Trust<i64>, order: Order) -> i64 {
    let limit = 100;
    match order {
        Order::Add(n) if n > limit => total.apply(|total| *total = limit),
        Order::Add(n) => total.apply(|total| *total += n),
        Order::Set { to } => total.apply(|total| *total = to),
        Clear => total.apply(|total| *total = 0),
    }
    total.apply(|total| *total)
}

#[gossamer::delegate]
fn parameters(
    total: gossamer::Trust<i64>,
    (a, b): (i64, i64),
    [first, .., last]: [i64; 4],
    Wrapper { inner: c, .. }: Wrapper,
) {
    total.apply(|total| *total = a + b + c + first + last);
}

struct Wrapper {
    inner: i64,
    _rest: (),
}

#[gossamer::delegate]
fn diverging(total: &gossamer::Trust<i64>, text: Option<&str>) -> Option<i64> {
    let Some(Ok(parsed)) = text.map(|text| text.parse::<i64>()) else {
        let fallback = -1;
        total.apply(|total| *total = fallback);
        return None;
    };
    Some(total.apply(|total| {
        *total = parsed;
        *total
    }))
}

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0i64);
    assert_eq!(obey(&total, Order::Add(5)), 5);
    assert_eq!(obey(&total, Order::Add(500)), 100);
    assert_eq!(obey(&total, Order::Set { to: 2 }), 2);
    assert_eq!(obey(&total, Order::Clear), 0);
    parameters(total.clone(), (1, 2), [3, 0, 0, 4], Wrapper { inner: 5, _rest: () });
    assert_eq!(total.apply(|total| *total), 15);
    assert_eq!(diverging(&total, Some("12")), Some(12));
    assert_eq!(diverging(&total, Some("x")), None);
    assert_eq!(total.apply(|total| *total), -1);

    if let Some(n) = Some(3)
        && let Some(m) = Some(n + 1)
        && m > n
    {
        total.apply(|total| *total = n * m);
    } else {
        unreachable!();
    }
    assert_eq!(total.apply(|total| *total), 12);

    let mut stack = vec![1i64, 2, 3];
    while let Some(top) = stack.pop() {
        total.apply(|total| *total += top);
    }
    for (index, n) in [10, 20].into_iter().enumerate() {
        total.apply(|total| *total += index as i64 * n);
    }
    assert_eq!(total.apply(|total| *total), 38);

    // Alternatives, bindings with subpatterns, guards that bind, and closures with patterns for parameters.
    let doubled = match (4i64, 5i64) {
        (n, 0) | (0, n) => total.apply(|_| n),
        (all @ 1..=9, _) if let Some(more) = all.checked_add(1) => total.apply(|total| *total + all + more),
        _ => 0,
    };
    assert_eq!(doubled, 47);
    let pair = gossamer::entrust((1i64, Some(2i64)));
    let k = 10;
    assert_eq!(pair.apply(|(a, b)| *a + b.unwrap_or(0) + k), 13);
    assert_eq!(pair.apply(|&mut (a, ref mut b)| a + b.take().unwrap_or(0) + k), 13);
    let labelled = 'found: {
        let wanted = 1;
        if pair.apply(|pair| pair.0 == wanted) {
            break 'found wanted;
        }
        0
    };
    assert_eq!(labelled, 1);
}
