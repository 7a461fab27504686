//! Generic functions, with the bound that lets their values travel; const generics; async functions; methods.
#![forbid(unsafe_code)]
#![deny(warnings)]

use gossamer::{NoRef, Trust};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

#[gossamer::delegate]
fn push<T: NoRef>(list: &Trust<Vec<T>>, value: T) -> usize {
    list.apply(move |list| {
        list.push(value);
        list.len()
    })
}

#[gossamer::delegate]
fn fill<T, const N: usize>(list: &Trust<Vec<T>>, value: T) -> usize
where
    T: NoRef + Clone,
{
    let values: [T; N] = std::array::from_fn(|_| value.clone());
    list.apply(move |list| {
        list.extend(values);
        list.len() + N
    })
}

#[gossamer::delegate]
async fn later(list: Trust<Vec<u64>>, extra: u64) -> u64 {
    let length = list.apply_async(move |list| list.len() as u64 + extra).await;
    length * 2
}

trait Count {
    fn count(&self, extra: usize) -> usize;
    #[gossamer::delegate]
    fn count_list(&self, list: &Trust<Vec<u64>>, extra: usize) -> usize {
        let own = self.count(extra);
        list.apply(move |list| list.len() + own)
    }
}

struct Counter {
    list: Trust<Vec<u64>>,
}

impl Count for Counter {
    #[gossamer::delegate]
    fn count(&self, extra: usize) -> usize {
        // `self` is not captured here: it is the receiver of the call.
        self.list.apply(move |list| list.len() + extra)
    }
}

impl Count for Trust<Vec<u64>> {
    #[gossamer::delegate]
    fn count(&self, extra: usize) -> usize {
        let own = self.clone();
        self.apply(move |list| {
            drop(own);
            list.len() + extra
        })
    }
}

#[gossamer::main]
fn main() {
    let list = gossamer::entrust(Vec::<u64>::new());
    assert_eq!(push(&list, 5), 1);
    assert_eq!(fill::<u64, 3>(&list, 6), 7);
    let counter = Counter { list: list.clone() };
    assert_eq!((counter.count(1), list.count(2), counter.count_list(&list, 0)), (5, 6, 8));

    let mut future = pin!(later(list, 1));
    let mut context = Context::from_waker(Waker::noop());
    let doubled = loop {
        if let Poll::Ready(doubled) = future.as_mut().poll(&mut context) {
            break doubled;
        }
        gossamer::yield_now();
    };
    assert_eq!(doubled, 10);
}
