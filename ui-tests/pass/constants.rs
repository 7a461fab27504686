//! What a delegated closure may hold that the macros make a constant of, and calls with explicit arguments. All of it goes to another
//! node.
#![deny(warnings)]

use gossamer::{Config, Latch, NoRef, Sharded, Trust, Trustee, entrust, rack, spawn_many_with, spawn_on_with, spawn_with};
use std::fmt::Display;

#[gossamer::delegate]
fn named_lifetimes<'a>(text: &'a str, list: &Trust<Vec<String>>) -> &'a str {
    list.apply(|list| list.clear());
    let owned = text.to_owned();
    list.apply(|list| list.push(owned));
    text
}

#[gossamer::delegate]
fn impl_trait(value: impl Display + NoRef, list: &Trust<Vec<String>>) -> usize {
    list.apply(move |list| {
        list.push(value.to_string());
        list.len()
    })
}

#[gossamer::delegate]
fn constants_and_types<const N: usize, T: NoRef + Default + Display>(list: &Trust<Vec<String>>) -> usize {
    let more = T::default();
    list.apply(|list| list.len() + N + T::default().to_string().len()) + list.apply(move |_| more.to_string().len())
}

#[gossamer::delegate]
fn early_returns(list: &Trust<Vec<String>>, least: usize) -> Option<usize> {
    let first = list.apply(move |list| {
        if list.len() < least {
            return None;
        }
        let first = list.first()?;
        Some(first.len())
    })?;
    Some(first + list.apply(|list| list.len()))
}

struct Shelf<T> {
    kept: T,
}

trait Work {
    const STEP: usize;
    fn work(&self, list: &Trust<Vec<String>>) -> usize;
}

impl<T: NoRef + Clone + Into<usize>> Work for Shelf<T> {
    const STEP: usize = 2;

    #[gossamer::delegate]
    fn work(&self, list: &Trust<Vec<String>>) -> usize {
        let kept = self.kept.clone();
        list.apply(|list| list.len() * Self::STEP) + list.apply(move |_| kept.into())
    }
}

unsafe fn one() -> usize {
    1
}

#[gossamer::delegate]
async fn in_a_future(list: Trust<Vec<String>>) -> usize {
    let more = async { 1_usize }.await;
    list.apply_async(move |list| list.len() + more).await
}

macro_rules! length_of {
    ($list:expr, $more:expr) => {
        $list.apply(const { |list| list.len() }) + $more
    };
}

#[gossamer::delegate]
fn everything_else(list: &Trust<Vec<String>>) {
    // SAFETY: it does nothing.
    let _ = unsafe { list.apply(|_| one()) };
    assert_eq!(length_of!(list, 1), list.apply(|list| list.len()) + 1);
    let lengths = vec![list.apply(|list| list.len()); 2];
    assert!(lengths[0] == lengths[1], "{}", list.apply(|list| list.len()));
    const STEP: usize = 1;
    static START: usize = 2;
    fn offset() -> usize {
        3
    }
    assert_eq!(list.apply(|_| STEP + START + offset()), 6);
    // In each other.
    let (outer, inner, by) = (entrust(0_u64), list.clone(), 2);
    outer.apply_then(move |_| inner.apply_then(move |list| list.truncate(by), |()| ()), |()| ());
    // A constant of one's own, whose closures delegate, too.
    let shorten = const { |list: &Trust<Vec<String>>, to: usize| list.apply(|list| list.truncate(to)) };
    shorten(list, 1);
    let count = const { |list: &mut Vec<String>| list.len() };
    assert_eq!(list.apply(count), 1);
}

#[gossamer::delegate]
fn explicit_arguments(there: Trustee) {
    // None of these needs a type: the arguments are known when the closure is looked at.
    let list = there.entrust_with(|text| vec![text.trim().to_owned()], String::from(" a "));
    list.apply_with(|list, (text, number)| list.push(text.repeat(number.count_ones() as usize)), (String::from("b"), 3_u8));
    list.apply_with_then(|list, text| list.push(text.trim().into()), String::from(" c "), |()| ());
    assert_eq!(list.apply_with_async(|list, text| list.join(text.trim()), String::from(" ")).wait(), "abbc");
    assert_eq!(list.try_apply_with(|list, text| list[0] == text.trim(), String::from("a ")), Ok(true));
    assert_eq!(Trust::apply_with(&list, |list, at| list[at.min(9)].clone(), 1), "bb");
    let latch = there.entrust(Latch::new(1_u64));
    assert_eq!(latch.launch_with(|value, (one, other)| *value + one.max(other), (1, 2)), 3);
    latch.launch_with_then(|value, one: u64| *value + one, 1, drop);
    assert_eq!(spawn_with(|text| text.len(), String::from("four")).join(), 4);
    assert_eq!(gossamer::spawn_with(|text| text.len(), String::from("four")).join(), 4);
    assert_eq!(spawn_on_with(there, |text| text.len(), String::from("four")).join(), 4);
    assert_eq!(there.spawn_with(|text| text.len(), String::from("four")).join(), 4);
    assert_eq!(spawn_many_with(2, |number, text| number + text.len(), String::from("x")).join(), [1, 2]);
    assert_eq!(rack::on_each_node(|text| text.len(), String::from("four")), [4, 4]);
    let shards = Sharded::<u8, Vec<u8>>::with(|| vec![1]);
    assert_eq!(shards.map_all(|shard| shard.len()), [1, 1]);
}

fn main() {
    rack::run_in_process(2, Config::default().threads(1), || {
        let there = Trustee::all()[1];
        let list = there.entrust(Vec::<String>::new());
        assert_eq!(named_lifetimes("text", &list), "text");
        assert_eq!(impl_trait(5, &list), 2);
        assert_eq!(constants_and_types::<4, u8>(&list), 8);
        assert_eq!(early_returns(&list, 2), Some(6));
        assert_eq!(early_returns(&list, 3), None);
        assert_eq!(Shelf { kept: 3_u8 }.work(&list), 7);
        drop(in_a_future(list.clone()));
        everything_else(&list);
        explicit_arguments(there);
    });
}
