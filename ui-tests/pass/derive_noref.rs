//! The derive on structs and enums of every shape: generic, recursive, private fields, associated types; no unsafe code is seen.
#![deny(warnings, clippy::all)]
#![forbid(unsafe_code)]

use gossamer::{NoRef, Trust};
use std::collections::HashMap;
use std::marker::PhantomData;

#[derive(Clone, NoRef)]
pub struct Unit;

#[derive(NoRef)]
pub struct Named {
    _name: String,
    _inner: Private,
}

#[derive(NoRef)]
#[allow(dead_code)]
struct Private(u64, Vec<Option<Box<str>>>, Trust<Vec<u8>>);

#[derive(NoRef)]
pub enum Shape<T, const N: usize> {
    Empty,
    One(T),
    Many { _all: [T; N] },
}

#[derive(NoRef)]
pub enum List<T>
where
    T: Clone,
{
    End,
    Node(T, Box<List<T>>),
}

#[derive(NoRef)]
pub struct Chain {
    _next: Option<Box<Self>>,
}

// Two types that hold each other.
#[derive(NoRef)]
struct Tree {
    _branches: Vec<Branch>,
}

#[derive(NoRef)]
#[allow(dead_code)]
enum Branch {
    Leaf(HashMap<String, u64>),
    Tree(Box<Tree>),
}

trait Kind {
    type Value;
}

#[derive(Clone, NoRef)]
struct Number;

impl Kind for Number {
    type Value = u32;
}

#[derive(NoRef)]
struct Tagged<K: Kind, T> {
    _value: K::Value,
    _tag: PhantomData<T>,
}

fn travels<T: NoRef>(value: T) -> T {
    value
}

#[gossamer::main]
fn main() {
    travels(Unit);
    let trust = gossamer::entrust(Vec::new());
    travels(Named { _name: String::new(), _inner: Private(1, vec![Some("x".into())], trust) });
    let (_, _, many) =
        travels((Shape::<u8, 2>::Empty, Shape::<u8, 2>::One(1), Shape::Many { _all: [1u8, 2] }));
    assert!(matches!(many, Shape::Many { .. }));
    assert!(matches!(travels(List::Node(1u8, Box::new(List::End))), List::Node(1, _)));
    travels(Chain { _next: None });
    travels(Tree {
        _branches: vec![Branch::Leaf(HashMap::new()), Branch::Tree(Box::new(Tree { _branches: vec![] }))],
    });
    travels(Tagged::<Number, String> { _value: 1, _tag: PhantomData });
}
