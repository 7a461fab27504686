//! Methods of collections that wait, where nobody can: the message names the method, and the user's line.

use gossamer::collections::{
    DistCounter, DistMap, DistQueue, DistSet, DistVec, Frontier, Layout, par_emit, par_fold, par_for_each,
    par_map_reduce,
};
use gossamer::{DelegationError, Trust, entrust};
use integration_tests::{in_runtime, panic_text};

type Vector = DistVec<u64>;
type Map = DistMap<u64, u64>;
type Set = DistSet<u64>;
type Queue = DistQueue<u64>;

type All = (Vector, Map, Set, Queue, DistCounter);

/// What a call says in a delegated closure, and its name.
type Refusal = (Result<(), DelegationError>, &'static str);

/// Makes a call for a list of names, each with what is done.
macro_rules! refusals {
    ($all:expr; $($name:literal: $call:expr;)+) => {
        [$(($all.try_apply(const { |all: &mut All| { _ = ($call)(all.clone()); } }), $name)),+]
    };
}

#[rustfmt::skip]
fn of_vectors(all: &Trust<All>) -> Vec<Refusal> {
    refusals! { all;
        "get": |(v, ..): All| v.get(0);
        "set": |(v, ..): All| v.set(0, 1);
        "replace": |(v, ..): All| v.replace(0, 1);
        "swap": |(v, ..): All| v.swap(0, 9);
        "update": |(v, ..): All| v.update(0, |x| *x);
        "range": |(v, ..): All| v.range(0..2);
        "set_range": |(v, ..): All| v.set_range(0, vec![1]);
        "to_vec": |(v, ..): All| v.to_vec();
        "local": |(v, ..): All| v.local(|elements| elements.len());
        "map_all": |(v, ..): All| v.map_all(|elements| elements.len());
        "gather": |(v, ..): All| v.gather([0]);
        "scatter": |(v, ..): All| v.scatter([(0, 1)]);
        "with_layout": |(v, ..): All| v.with_layout(Layout::cyclic(10));
        "marked": |(v, ..): All| v.marked();
        "to_file": |(v, ..): All| v.to_file("/no/such/file").is_ok();
        "to_writer": |(v, ..): All| v.to_writer(std::io::sink()).is_ok();
        "from_reader": |_: All| Vector::from_reader(1, &[1_u8; 8][..]).is_ok();
        "from_file": |_: All| Vector::from_file("/no/such/file").is_ok();
        "from_lines": |_: All| DistVec::from_lines("/no/such/file").is_ok();
        "filled": |_: All| Vector::filled(3, 0);
        "from_fn": |_: All| Vector::from_fn(3, |index| index as u64);
        "from_vec": |_: All| Vector::from_vec(1, vec![1]);
        "from_slice": |_: All| Vector::from_slice(&[1]);
        "collect": |_: All| (0..3_u64).collect::<Vector>();
        "finish": |(v, ..): All| { let mut adds = v.updates(|x, by: u64| *x += by); adds.push(0, 1); adds.finish() };
        "of": |(v, ..): All| Frontier::of(&v);
    }
    .into()
}

#[rustfmt::skip]
fn of_loops(all: &Trust<All>) -> Vec<Refusal> {
    refusals! { all;
        "par_for_each": |(v, ..): All| v.par_for_each(|_, x| *x += 1);
        "par_map": |(v, ..): All| v.par_map(|_, x| *x);
        "par_filter": |(v, ..): All| v.par_filter(|_, x| *x > 0);
        "par_fold": |(v, ..): All| v.par_fold(0, |sum, _, x| sum + *x);
        "par_reduce": |(v, ..): All| v.par_reduce(|one, other| one + other);
        "par_scan": |(v, ..): All| v.par_scan(|one, other| one + other);
        "par_map_reduce": |(v, ..): All| v.par_map_reduce(|_, x| *x, |one, other| one + other);
        "par_chunks": |(v, ..): All| v.par_chunks(2, |_, _| ());
        "par_zip": |(v, ..): All| v.par_zip(&v.clone(), |_, _, _| ());
        "par_group_by": |(v, ..): All| v.par_group_by(|index, _| index);
        "par_largest": |(v, ..): All| v.par_largest(2);
        "par_sort": |(v, ..): All| v.par_sort();
        "par_sort_unstable": |(v, ..): All| v.par_sort_unstable();
        "par_for_each": |_: All| par_for_each(0..3, |_| ());
        "par_fold": |_: All| par_fold(0..3, 0, |sum, number| sum + number);
        "par_map_reduce": |_: All| par_map_reduce(0..3, |number| number, |one, other| one + other);
        "apply_to": |(v, ..): All| par_emit(0..3, |number, out| out.push(number, 1)).apply_to(&v, |x, by: u64| *x += by);
        "par_filter": |(_, m, ..): All| m.par_filter(|_, _| true);
        "par_map": |(_, m, ..): All| m.par_map(|_, value| *value);
        "par_fold": |(_, m, ..): All| m.par_fold(0, |sum, _, value| sum + *value);
        "par_map_reduce": |(_, m, ..): All| m.par_map_reduce(|_, value| *value, |one, other| one + other);
        "par_for_each": |(_, m, ..): All| m.par_for_each(|_, _| ());
        "par_largest": |(_, m, ..): All| m.par_largest(1);
        "par_for_each": |(_, _, _, q, _): All| q.par_for_each(|_, _| ());
    }
    .into()
}

#[rustfmt::skip]
fn of_others(all: &Trust<All>) -> Vec<Refusal> {
    refusals! { all;
        "get": |(_, m, ..): All| m.get(1);
        "insert": |(_, m, ..): All| m.insert(1, 1);
        "remove": |(_, m, ..): All| m.remove(1);
        "contains_key": |(_, m, ..): All| m.contains_key(1);
        "update": |(_, m, ..): All| m.update(0, 0, |value| *value);
        "gather": |(_, m, ..): All| m.gather([1]);
        "len": |(_, m, ..): All| m.len();
        "is_empty": |(_, m, ..): All| m.is_empty();
        "clear": |(_, m, ..): All| m.clear();
        "retain": |(_, m, ..): All| m.retain(|_, _| true);
        "chunks": |(_, m, ..): All| m.chunks().next();
        "drain": |(_, m, ..): All| m.drain().next();
        "extend": |(_, m, ..): All| m.extend([(1, 1)]);
        "finish": |(_, m, ..): All| { let mut adds = m.merges(|x, by| *x += by); adds.push(0, 1); adds.finish() };
        "new": |_: All| Map::new();
        "collect": |_: All| (0..3).map(|key| (key, key)).collect::<Map>();
        "insert": |(_, _, s, ..): All| s.insert(1);
        "contains": |(_, _, s, ..): All| s.contains(1);
        "remove": |(_, _, s, ..): All| s.remove(1);
        "len": |(_, _, s, ..): All| s.len();
        "extend": |(_, _, s, ..): All| s.extend([1]);
        "drain": |(_, _, s, ..): All| s.drain().next();
        "new": |_: All| Set::new();
        "collect": |_: All| (0..3).collect::<Set>();
        "push": |(.., q, _): All| q.push(1);
        "extend": |(.., q, _): All| q.extend([1]);
        "len": |(.., q, _): All| q.len();
        "is_empty": |(.., q, _): All| q.is_empty();
        "drain": |(.., q, _): All| q.drain();
        "new": |_: All| Queue::new();
        "sum": |(.., c): All| c.sum();
        "take": |(.., c): All| c.take();
        "new": |_: All| DistCounter::new();
    }
    .into()
}

#[test]
fn a_method_that_waits_in_a_delegated_closure_is_named_with_the_users_line() {
    in_runtime(2, || {
        let (vector, queue) = (Vector::filled(10, 0), Queue::new());
        queue.push(1);
        let all = entrust((vector, Map::new(), Set::new(), queue, DistCounter::new()));
        let mut wrong = Vec::new();
        for (outcome, name) in [of_vectors, of_loops, of_others].into_iter().flat_map(|of| of(&all)) {
            let text = outcome.map_or_else(|error| error.to_string(), |()| "it was not refused".to_owned());
            let place = format!("panicked on worker 0 at {}:", file!());
            // The standard library does not pass on who called `collect`.
            let is_placed = name == "collect" || text.contains(&place);
            if !text.contains(&format!("blocking `{name}` inside")) || !is_placed {
                wrong.push(format!("{name}: {text}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

#[test]
fn a_vector_is_neither_zipped_with_itself_nor_the_rows_of_its_own_front() {
    in_runtime(2, || {
        let vector = Vector::filled(10, 0);
        let text = panic_text(|| vector.par_zip(&vector.clone(), |_, _, _| ()));
        assert!(text.contains("zipped with itself"), "{text}");
        // Also with nothing marked, so that it does not depend on data.
        let front = Frontier::of(&vector);
        let text = panic_text(|| {
            front.par_for_each(&vector, |index, _, _, out| out.push(index, ())).apply(|_, (), _| ());
        });
        assert!(text.contains("the vector of the front itself"), "{text}");
    });
}
