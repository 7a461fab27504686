//! Values come out as they went in, and bytes that are none are refused.

use crate::wire::NoRef;
use crate::wire::value::{Decoder, Encoder, Shape};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt::Debug;
use std::ops::Bound;
use std::time::{Duration, UNIX_EPOCH};

/// Sends a value through bytes; every shorter piece of them is refused.
fn survives<T: NoRef + Clone + Debug + PartialEq>(value: T) {
    let bytes = Encoder::encoded(value.clone()).unwrap();
    assert_eq!(Decoder::decoded::<T>(&bytes).unwrap(), value);
    for end in 0..bytes.len() {
        let error = Decoder::decoded::<T>(&bytes[..end]).unwrap_err();
        assert!(error.to_string().contains("same program"), "{error}");
    }
    assert!(Decoder::decoded::<T>(&[&bytes[..], &[0]].concat()).is_err(), "a byte too many");
}

#[test]
fn values_survive_encoding() {
    survives(7_u64);
    survives((1_u8, -2_i64, 'ß', true, 2.5_f32));
    survives(String::from("gossamer"));
    survives(vec![Some(String::from("a")), None]);
    survives([1_u16; 5]);
    survives([String::from("x"), String::new()]);
    survives(vec![3_u64; 1000]);
    survives(HashMap::<String, Vec<u8>>::from([("k".into(), vec![1, 2])]));
    survives(BTreeMap::from([(1, "one".to_owned()), (2, "two".to_owned())]));
    survives(HashSet::from([1, 5]));
    survives(VecDeque::from([1, 2, 3]));
    survives(Box::new((Duration::from_nanos(7), UNIX_EPOCH + Duration::from_secs(5))));
    survives(Result::<(), String>::Err("no".into()));
    survives((Bound::Excluded(4), 1..=3, 5..9));
    survives("7x".parse::<u8>());
    survives(String::from_utf8(vec![b'a', 0xff]));
}

#[test]
fn small_data_is_flat_and_what_owns_memory_is_not() {
    assert_eq!(<[u64; 3]>::SHAPE, Shape::Plain);
    assert!(<(u8, Option<[u32; 2]>, Duration)>::SHAPE.is_flat());
    assert!(!<(u8, Option<String>)>::SHAPE.is_flat());
    assert!(!Vec::<u8>::SHAPE.is_flat());
}

#[test]
fn bytes_that_lie_about_their_length_are_refused_without_taking_memory() {
    let lie = u64::MAX.to_ne_bytes();
    assert!(Decoder::decoded::<String>(&lie).is_err());
    assert!(Decoder::decoded::<Vec<u64>>(&lie).is_err());
    assert!(Decoder::decoded::<Vec<String>>(&lie).is_err());
    assert!(Decoder::decoded::<HashMap<u8, u8>>(&[&lie[..], &lie[..]].concat()).is_err());
    assert!(Decoder::decoded::<String>(&[1, 0, 0, 0, 0, 0, 0, 0, 0xff]).is_err(), "no UTF-8");
    assert!(Decoder::decoded::<Option<u8>>(&[2, 0]).is_err(), "no variant");
    assert!(Decoder::decoded::<bool>(&[2]).is_err() && Decoder::decoded::<char>(&[0xff; 4]).is_err());
}

#[test]
fn a_value_that_does_not_say_how_it_travels_is_refused_by_name() {
    struct ByHand;
    // SAFETY: it holds nothing.
    #[expect(unsafe_code, reason = "`NoRef` is an unsafe trait")]
    unsafe impl NoRef for ByHand {}
    let refused = Encoder::encoded(vec![ByHand]).unwrap_err();
    assert!(refused.ends_with("ByHand"), "{refused}");
}
