//! Trusts against an oracle: a million random steps over workers, fibers, delegated closures and foreign threads.
//!
//! The oracle counts trusts by itself. A property must live while its count is above zero, and until all requests that
//! were sent before are served (its value shows whether it is the right one); then it must be dropped once, on its
//! trustee.

use fastrand::Rng;
use gossamer::{NoRef, Trust, Trustee, spawn_on_with};
use integration_tests::{in_runtime, wait_until};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// At most this many properties, over all seeds.
const MOST: usize = 1 << 20;

/// By the number of a property: its trusts, and how often it was dropped.
static TRUSTS: LazyLock<Vec<AtomicI32>> = LazyLock::new(|| (0..MOST).map(|_| AtomicI32::new(0)).collect());
static DROPS: LazyLock<Vec<AtomicI32>> = LazyLock::new(|| (0..MOST).map(|_| AtomicI32::new(0)).collect());
static MADE: AtomicUsize = AtomicUsize::new(0);
static DROPPED: AtomicUsize = AtomicUsize::new(0);
static WRONG: AtomicUsize = AtomicUsize::new(0);

/// An assertion that counts even where a panic would reach nobody.
fn verify(holds: bool, what: &str, number: usize) {
    if !holds {
        WRONG.fetch_add(1, Ordering::SeqCst);
        panic!("property {number} {what}");
    }
}

/// A value that knows the number it was made for. Values have several sizes and kinds, so that a trust that led to a
/// property of another type would be noticed.
trait Value: NoRef {
    fn of(number: usize) -> Self;
    fn is(&self, number: usize) -> bool;
}

impl Value for usize {
    fn of(number: usize) -> Self {
        !number
    }

    fn is(&self, number: usize) -> bool {
        *self == !number
    }
}

impl Value for String {
    fn of(number: usize) -> Self {
        format!("the value of property {number}")
    }

    fn is(&self, number: usize) -> bool {
        *self == Self::of(number)
    }
}

impl Value for [usize; 40] {
    fn of(number: usize) -> Self {
        [number.wrapping_mul(31); 40]
    }

    fn is(&self, number: usize) -> bool {
        *self == Self::of(number)
    }
}

/// A property: a value, and trusts of properties with lower numbers (so that none holds itself).
#[derive(NoRef)]
struct Node<V> {
    value: V,
    number: usize,
    home: usize,
    held: Vec<Held>,
}

impl<V> Drop for Node<V> {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::SeqCst);
        verify(
            TRUSTS[self.number].load(Ordering::SeqCst) == 0,
            "is dropped while it has trusts",
            self.number,
        );
        verify(DROPS[self.number].fetch_add(1, Ordering::SeqCst) == 0, "is dropped twice", self.number);
        verify(Trustee::here().index() == self.home, "is dropped away from home", self.number);
    }
}

impl<V: Value> Node<V> {
    fn check(&self, number: usize) {
        verify(self.value.is(number) && self.number == number, "is not what its trust led to", number);
        verify(DROPS[number].load(Ordering::SeqCst) == 0, "is used after its drop", number);
    }

    /// Keeps a trust, if its number allows it.
    fn keep(&mut self, other: Held) {
        if other.number < self.number && self.held.len() < 8 {
            self.held.push(other);
        }
    }
}

#[derive(Clone, NoRef)]
enum Any {
    Number(Trust<Node<usize>>),
    Text(Trust<Node<String>>),
    Large(Trust<Node<[usize; 40]>>),
}

/// A trust, counted by the oracle as well.
#[derive(NoRef)]
struct Held {
    trust: Any,
    number: usize,
}

impl Clone for Held {
    fn clone(&self) -> Self {
        TRUSTS[self.number].fetch_add(1, Ordering::SeqCst);
        Self { trust: self.trust.clone(), number: self.number }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Counted before the trust itself is dropped.
        TRUSTS[self.number].fetch_sub(1, Ordering::SeqCst);
    }
}

impl Held {
    fn new(kind: u8, trustee: Trustee) -> Self {
        fn entrust<V: Value>(trustee: Trustee, number: usize) -> Trust<Node<V>> {
            trustee.entrust(Node { value: V::of(number), number, home: trustee.index(), held: Vec::new() })
        }
        let number = MADE.fetch_add(1, Ordering::SeqCst);
        TRUSTS[number].fetch_add(1, Ordering::SeqCst);
        let trust = match kind % 3 {
            0 => Any::Number(entrust(trustee, number)),
            1 => Any::Text(entrust(trustee, number)),
            _ => Any::Large(entrust(trustee, number)),
        };
        Self { trust, number }
    }

    /// Delegates in one of many ways, with another trust as the argument.
    fn delegate(&self, way: u8, other: Held, kept: &mut Vec<Held>) {
        match &self.trust {
            Any::Number(trust) => delegate(trust, self.number, way, other, kept),
            Any::Text(trust) => delegate(trust, self.number, way, other, kept),
            Any::Large(trust) => delegate(trust, self.number, way, other, kept),
        }
    }

    /// It only sends: that is safe in a delegated closure.
    fn touch(&self) {
        match &self.trust {
            Any::Number(trust) => trust.apply_with_then(Node::check_it, self.number, |()| ()),
            Any::Text(trust) => trust.apply_with_then(Node::check_it, self.number, |()| ()),
            Any::Large(trust) => trust.apply_with_then(Node::check_it, self.number, |()| ()),
        }
    }
}

impl<V: Value> Node<V> {
    fn check_it(&mut self, number: usize) {
        self.check(number);
    }
}

fn delegate<V: Value>(trust: &Trust<Node<V>>, number: usize, way: u8, other: Held, kept: &mut Vec<Held>) {
    let arguments = (number, other);
    match way % 10 {
        0 => trust.apply_with(|node, (number, _other)| node.check(number), arguments),
        1 => kept.push(trust.apply_with(
            |node, (number, other)| {
                node.check(number);
                other
            },
            arguments,
        )),
        2 => trust.apply_with_then(|node, (number, _other)| node.check(number), arguments, |()| ()),
        3 => trust.apply_with_then(
            |node, (number, other)| {
                node.check(number);
                node.keep(other);
            },
            arguments,
            |()| (),
        ),
        4 => trust.apply_with_then(
            |node, (number, other)| {
                node.check(number);
                (other.clone(), other)
            },
            arguments,
            |(one, two)| {
                one.touch();
                drop(one);
                two.touch();
            },
        ),
        5 => kept.extend(trust.apply_with(
            |node, (number, _other)| {
                node.check(number);
                node.held.pop()
            },
            arguments,
        )),
        6 => {
            // The closure itself uses it, when its own trust may have been the last one.
            trust.apply_with_then(
                |node, (number, other)| {
                    node.check(number);
                    other.touch();
                },
                arguments,
                |()| (),
            );
        }
        7 => {
            let (number, other) = arguments;
            trust.apply_with_then(Node::check_it, number, move |()| other.touch());
        }
        8 => {
            let check_and_return = |node: &mut Node<V>, (number, other): (usize, Held)| {
                node.check(number);
                other
            };
            let pending = trust.apply_with_async(check_and_return, arguments);
            if number.is_multiple_of(2) {
                kept.push(pending.wait());
            }
        }
        _ => {
            let panics = |node: &mut Node<V>, (number, other): (usize, Held)| -> () {
                node.check(number);
                other.touch();
                panic!("expected");
            };
            assert!(trust.try_apply_with(panics, arguments).unwrap_err().to_string().contains("expected"));
        }
    }
}

/// An actor that makes random steps: a fiber, or a foreign thread.
#[derive(NoRef)]
struct Actor {
    seed: u64,
    steps: usize,
    trustees: Vec<Trustee>,
    mailboxes: Vec<Trust<Vec<Held>>>,
}

impl Actor {
    fn run(self) {
        let mut random = Rng::with_seed(self.seed);
        let mut held: Vec<Held> = Vec::new();
        for _ in 0..self.steps {
            self.step(&mut random, &mut held);
        }
    }

    fn step(&self, random: &mut Rng, held: &mut Vec<Held>) {
        let trustee = self.trustees[random.usize(..self.trustees.len())];
        if held.is_empty() || random.u8(..10) == 0 {
            held.push(Held::new(random.u8(..), trustee));
        }
        let index = random.usize(..held.len());
        let mailbox = &self.mailboxes[random.usize(..self.mailboxes.len())];
        match random.u8(..20) {
            0..3 => held.push(held[index].clone()),
            3..6 => drop(held.swap_remove(index)),
            6 => mailbox.apply_with_then(|held, one| held.push(one), held.swap_remove(index), |()| ()),
            7 => held.extend(mailbox.apply(|held| held.pop())),
            8 => held.swap_remove(index).touch(),
            9 => {
                // To another fiber, which drops it there.
                let body = |one: Held| one.delegate(0, one.clone(), &mut Vec::new());
                drop(spawn_on_with(trustee, body, held.swap_remove(index)));
            }
            10 if random.bool() => gossamer::yield_now(),
            _ => {
                let other = held[random.usize(..held.len())].clone();
                let chosen = if random.bool() { held.swap_remove(index) } else { held[index].clone() };
                chosen.delegate(random.u8(..), other, held);
            }
        }
        while held.len() > 50 {
            held.swap_remove(random.usize(..held.len()));
        }
    }
}

/// Runs `fibers` actors of `steps` steps each on each worker, and two foreign threads of a few steps.
fn steps(seed: u64, workers: usize, fibers: usize, steps: usize) {
    in_runtime(workers, move || {
        let trustees = Trustee::all();
        let mailboxes: Vec<_> = trustees.iter().map(|trustee| trustee.entrust(Vec::<Held>::new())).collect();
        let actor = |number: usize, steps| {
            let seed = seed << 32 | number as u64;
            Actor { seed, steps, trustees: trustees.clone(), mailboxes: mailboxes.clone() }
        };
        let threads: Vec<_> = (0..2)
            .map(|number| {
                let actor = actor(1000 + number, steps / 10);
                std::thread::spawn(move || actor.run())
            })
            .collect();
        let fibers: Vec<_> = (0..fibers * workers)
            .map(|number| spawn_on_with(trustees[number % workers], Actor::run, actor(number, steps)))
            .collect();
        fibers.into_iter().for_each(|fiber| fiber.join());
        wait_until(|| threads.iter().all(|thread| thread.is_finished()));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        drop(mailboxes);
        wait_until(|| DROPPED.load(Ordering::SeqCst) == MADE.load(Ordering::SeqCst));
    });
    assert_eq!(WRONG.load(Ordering::SeqCst), 0);
    let made = MADE.load(Ordering::SeqCst);
    assert!((0..made).all(|number| DROPS[number].load(Ordering::SeqCst) == 1));
    assert!((0..made).all(|number| TRUSTS[number].load(Ordering::SeqCst) == 0));
}

/// A single test, because the oracle's counts belong to the process.
#[test]
fn over_a_million_random_steps_each_property_is_dropped_once_at_home_after_its_last_use() {
    for (seed, workers, fibers) in [(1, 1, 20), (2, 2, 1), (3, 2, 10), (4, 3, 7), (5, 4, 30)] {
        steps(seed, workers, fibers, 210_000 / (workers * fibers));
    }
}
