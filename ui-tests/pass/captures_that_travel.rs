//! Types that hold no reference: plain data, owned containers of such, trusts.
#![deny(warnings)]

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::{CString, OsString};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::{NonZeroU8, Wrapping};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

fn travels<T: gossamer::NoRef>(_: T) {}

#[gossamer::main]
fn main() {
    travels((1u8, -1i128, 1.5f32, 'c', true, (), [0usize; 3]));
    travels((String::new(), OsString::new(), PathBuf::new(), CString::default()));
    travels::<(Box<str>, Box<[u8]>, Box<Path>, Box<u8>)>((
        "".into(),
        [1].into(),
        Path::new("p").into(),
        Box::new(1),
    ));
    travels((vec![Some(1)], Ok::<u8, String>(1), VecDeque::<u8>::new(), LinkedList::<u8>::new()));
    travels((
        HashMap::<String, u8>::new(),
        BTreeMap::<u8, u8>::new(),
        HashSet::<u8>::new(),
        BTreeSet::<u8>::new(),
    ));
    travels((BinaryHeap::<Reverse<u8>>::new(), Duration::ZERO, SystemTime::now(), Wrapping(1)));
    travels((IpAddr::V4(Ipv4Addr::LOCALHOST), SocketAddr::from(([0; 4], 1)), NonZeroU8::MIN));
    travels((Cell::new(1), RefCell::new(1), 0..1, 0..=1, "1".parse::<u8>(), std::cmp::Ordering::Less));
    let trust = gossamer::entrust(0u64);
    travels((trust.clone(), gossamer::Trustee::here(), vec![trust.clone()]));
    let (other, list) = (trust.clone(), vec![1u64]);
    trust.apply_then(
        move |count| {
            drop(other);
            *count += list[0]
        },
        |()| (),
    );
}
