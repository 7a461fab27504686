//! The functions that are loops are imported, and called by their names.

use gossamer::collections::{par_fold, par_fold_with, par_for_each, par_for_each_with, par_map_reduce, par_map_reduce_with};
use gossamer::rack::on_each_node;

#[gossamer::main(threads = 2)]
fn main() {
    let (sum, by) = (gossamer::entrust(0), 3);
    let total = sum.clone();
    par_for_each(0..10, |number| total.apply(|sum| *sum += number * by));
    let less = |_, (sum, by): &(gossamer::Trust<usize>, usize)| sum.apply_with(|sum, by| *sum -= by, *by);
    par_for_each_with(0..10, less, (sum.clone(), by));
    assert_eq!(sum.apply(|sum| *sum), 45 * 3 - 30);
    assert_eq!(par_fold(0..10, 0, |sum, number| sum + number * by).into_iter().sum::<usize>(), 135);
    assert_eq!(par_fold_with(0..10, 0, |sum, number, by| sum + number * by, by).into_iter().sum::<usize>(), 135);
    assert_eq!(par_map_reduce(0..10, |number| number * by, |one, other| one + other), Some(135));
    assert_eq!(par_map_reduce_with(0..10, |number, by| number * by, by, |one, other| one + other), Some(135));
    assert_eq!(on_each_node(|by| by + 1, by), [4]);
}
