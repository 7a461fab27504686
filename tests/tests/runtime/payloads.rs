//! Arguments and results of every size, alignment and kind arrive whole and are dropped once.

use gossamer::{NoRef, Trust, Trustee, spawn_on_with};
use integration_tests::{Counted, Tally, near_and_far, wait_until};

/// A value made from a number, which can be recognised.
trait Payload: NoRef {
    fn of(number: u64) -> Self;
    fn is(&self, number: u64) -> bool;
}

impl<const N: usize> Payload for [u8; N] {
    fn of(number: u64) -> Self {
        // In place, because `from_fn` copies the value several times without optimisation.
        let mut bytes = [0; N];
        bytes.iter_mut().enumerate().for_each(|(index, byte)| *byte = (number as usize * 31 + index) as u8);
        bytes
    }

    fn is(&self, number: u64) -> bool {
        self.iter().enumerate().all(|(index, byte)| *byte == (number as usize * 31 + index) as u8)
    }
}

impl Payload for u64 {
    fn of(number: u64) -> Self {
        !number
    }

    fn is(&self, number: u64) -> bool {
        *self == !number
    }
}

/// As the compiler lays it out, its address is a multiple of 64.
#[derive(NoRef)]
#[repr(align(64))]
struct Aligned<const N: usize>([u8; N]);

impl<const N: usize> Payload for Aligned<N> {
    fn of(number: u64) -> Self {
        Self(Payload::of(number))
    }

    fn is(&self, number: u64) -> bool {
        (&raw const *self).addr().is_multiple_of(64) && self.0.is(number)
    }
}

impl Payload for Vec<String> {
    fn of(number: u64) -> Self {
        (0..number % 7).map(|index| format!("{number}.{index}")).collect()
    }

    fn is(&self, number: u64) -> bool {
        *self == Self::of(number)
    }
}

/// A payload of some size whose drops are counted.
#[derive(NoRef)]
struct Tallied<P>(P, Counted);

/// Sends one payload to the property and another one back, in every possible way.
fn there_and_back<A: Payload, R: Payload>(trustee: Trustee, count: u64) {
    let tally = Tally::new();
    let property = trustee.entrust(0_u64);
    let exchange = |property: &mut u64, (number, sent, counted): (u64, Tallied<A>, Counted)| {
        assert!(sent.0.is(number), "argument {number} of {} bytes", size_of::<A>());
        *property += 1;
        Tallied(R::of(number), counted)
    };
    let arguments = move |number| (number, Tallied(A::of(number), tally.value()), tally.value());
    let check =
        |number, back: Tallied<R>| assert!(back.0.is(number), "result {number} of {} bytes", size_of::<R>());
    for number in 0..count {
        check(number, property.apply_with(exchange, arguments(number)));
        // Many of these share a batch.
        property.apply_with_then(exchange, arguments(number), move |back| check(number, back));
    }
    let pending: Vec<_> =
        (0..count).map(|number| (number, property.apply_with_async(exchange, arguments(number)))).collect();
    for (number, pending) in pending {
        // Nobody looks at every other result.
        if number % 2 == 0 {
            check(number, pending.wait());
        }
    }
    let fiber = trustee.spawn_with(
        |(number, sent): (u64, Tallied<A>)| {
            assert!(sent.0.is(number));
            Tallied(R::of(number), sent.1)
        },
        (5, Tallied(A::of(5), tally.value())),
    );
    check(5, fiber.join());
    assert_eq!(property.apply(|property| *property), count * 3);
    wait_until(|| tally.is_even());
    assert_eq!(tally.made() as u64, count * 6 + 1);
}

/// As `there_and_back`, but in a fiber with a stack for large values: the worker's own has room for a dozen copies of
/// the largest one.
fn in_all_directions<A: Payload, R: Payload>(count: u64) {
    for trustee in Trustee::all() {
        there_and_back::<A, R>(trustee, count);
        there_and_back::<R, A>(trustee, count);
    }
}

macro_rules! payloads {
    ($($name:ident: $count:literal of $argument:ty, $result:ty;)+) => { $(
        #[test]
        fn $name() {
            integration_tests::watched(|| {
                // Unoptimised code copies a large value several times, and the stack of main has no room for so many
                // copies. Under the address sanitizer a frame takes 20 MiB, and passes over a guard page unnoticed.
                let config = integration_tests::workers(2).stack_size(256 << 20);
                gossamer::run(config, || gossamer::spawn(|| in_all_directions::<$argument, $result>($count)).join());
            });
        }
    )+ };
}

payloads! {
    nothing_travels_both_ways: 300 of [u8; 0], [u8; 0];
    one_byte_and_eight_travel: 300 of [u8; 1], u64;
    nine_bytes_and_none_travel: 300 of [u8; 9], [u8; 0];
    the_largest_sizes_that_travel_in_a_slot_travel: 300 of [u8; 255], [u8; 256];
    sizes_just_above_and_below_a_slots_limit_travel: 300 of [u8; 257], [u8; 239];
    small_arguments_with_large_results_travel: 300 of [u8; 1], [u8; 232];
    four_kibibytes_travel: 100 of [u8; 4096], [u8; 4097];
    a_quarter_of_a_mebibyte_travels: 5 of [u8; 1 << 18], [u8; 1];
    values_of_large_alignment_travel: 300 of Aligned<1>, Aligned<64>;
    large_values_of_large_alignment_travel: 100 of Aligned<192>, Aligned<4000>;
    values_that_own_memory_travel: 300 of Vec<String>, Vec<String>;
}

/// Takes no room at all, but its drop counts.
struct Empty;

// SAFETY: it holds nothing.
unsafe impl NoRef for Empty {}

static EMPTY_DROPS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

impl Drop for Empty {
    fn drop(&mut self) {
        EMPTY_DROPS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn values_without_size_are_dropped_once_each_as_arguments_results_and_properties() {
    near_and_far(|trustee| {
        let drops = || EMPTY_DROPS.load(std::sync::atomic::Ordering::Relaxed);
        let before = drops();
        let property = trustee.entrust(Empty);
        for _ in 0..500 {
            drop(property.apply_with(|_, empty| empty, Empty));
            property.apply_with_then(|_, _empty| Empty, Empty, drop);
            drop(property.apply_with_async(|_, _empty| Empty, Empty));
        }
        drop(property);
        wait_until(|| drops() == before + 2501);
        gossamer::sleep(std::time::Duration::from_millis(2));
        assert_eq!(drops(), before + 2501);
    });
}

#[test]
fn requests_of_all_sizes_share_batches() {
    near_and_far(|trustee| {
        let tally = Tally::new();
        let property = trustee.entrust(0_u64);
        let fibers: Vec<_> = (0..20_u64)
            .map(|seed| {
                let body = |(property, seed, counted): (Trust<u64>, u64, Counted)| {
                    let mut random = fastrand::Rng::with_seed(seed);
                    for _ in 0..200 {
                        let number = random.u64(..1000);
                        mixed(&property, random.u8(..8), number, counted.clone());
                    }
                };
                spawn_on_with(Trustee::here(), body, (property.clone(), seed, tally.value()))
            })
            .collect();
        fibers.into_iter().for_each(|fiber| fiber.join());
        wait_until(|| property.apply(|property| *property) == 20 * 200);
        wait_until(|| tally.is_even());
    });
}

/// One request of some size, with a result of another.
fn mixed(property: &Trust<u64>, way: u8, number: u64, counted: Counted) {
    fn send<A: Payload, R: Payload>(property: &Trust<u64>, number: u64, counted: Counted) {
        property.apply_with_then(
            |property, (number, sent, counted): (u64, A, Counted)| {
                assert!(sent.is(number));
                *property += 1;
                (R::of(number), counted)
            },
            (number, A::of(number), counted),
            move |(back, _counted)| assert!(back.is(number)),
        );
    }
    match way {
        0 => send::<[u8; 0], [u8; 0]>(property, number, counted),
        1 => send::<[u8; 0], [u8; 200]>(property, number, counted),
        2 => send::<[u8; 200], [u8; 0]>(property, number, counted),
        3 => send::<[u8; 300], [u8; 1]>(property, number, counted),
        4 => send::<[u8; 1], [u8; 300]>(property, number, counted),
        5 => send::<Aligned<1>, Vec<String>>(property, number, counted),
        6 => property.apply_with_then(
            |property, (number, _counted): (u64, Counted)| -> [u8; 200] {
                *property += 1;
                panic!("request {number} fails (expected in the output of this test)")
            },
            (number, counted),
            drop,
        ),
        _ => {
            property.apply_with(|property, _counted| *property += 1, counted);
        }
    }
}
