//! Values come out as they went in, and bytes that are none are refused.

use crate::wire::NoRef;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::Malformed;
use crate::wire::shape::Shape;
use crate::wire::word::{Word, initialised};
use core::cell::Cell;
use core::cmp::Ordering;
use core::ops::{Bound, ControlFlow};
use core::task::Poll;
use gossamer_macros::NoRef;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::env::VarError;
use std::ffi::{CStr, OsString};
use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU16;
use std::rc::Rc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTimeError, UNIX_EPOCH};

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
    survives(("7x".parse::<u8>(), "7".parse::<bool>(), "x".parse::<f64>(), "".parse::<char>()));
    survives(String::from_utf8(vec![b'a', 0xff]));
    for text in [&b"abc\xc2"[..], b"\xff", b"ab\xe1\x80c", b"\xf1\x80\x80", b"\xf1\x80\x80c"] {
        survives(std::str::from_utf8(text).map(|_| ()));
    }
    for text in [&b"a\0b\0"[..], b"ab"] {
        survives(CStr::from_bytes_with_nul(text).map(|_| ()));
    }
    survives([Err(VarError::NotPresent), Err(VarError::NotUnicode(OsString::from("x"))), Ok(String::new())]);
    survives(char::try_from(0xd800_u32));
    assert!(sent(<[u8; 2]>::try_from(&[1][..])).is_err());
    survives(Vec::<u8>::new().try_reserve(usize::MAX));
    survives(
        (UNIX_EPOCH - Duration::from_secs(5)).duration_since(UNIX_EPOCH).map_err(|error| error.duration()),
    );
    survives(["::1".parse::<IpAddr>(), "10.1.2.3".parse(), "x".parse()]);
    survives(["[::1]:80".parse::<SocketAddr>(), "10.1.2.3:80".parse()]);
    survives((
        Poll::Ready(NonZeroU16::MIN),
        Cell::new(5_u8),
        Ordering::Less,
        ControlFlow::<u8, ()>::Break(7),
    ));
    let time_error = UNIX_EPOCH.duration_since(UNIX_EPOCH + Duration::from_millis(7)).unwrap_err();
    let bytes = Encoder::encoded(time_error.clone()).unwrap();
    assert_eq!(Decoder::decoded::<SystemTimeError>(&bytes).unwrap().duration(), time_error.duration());
}

fn sent<T: NoRef>(value: T) -> T {
    Decoder::decoded(&Encoder::encoded(value).unwrap()).unwrap()
}

#[test]
fn an_error_of_any_type_keeps_its_texts_and_those_of_its_causes() {
    type AnyError = Box<dyn std::error::Error + Send + Sync>;
    #[derive(Debug)]
    struct Failure(&'static str, Option<io::Error>);
    impl std::fmt::Display for Failure {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "failed: {}", self.0)
        }
    }
    impl std::error::Error for Failure {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            self.1.as_ref().map(|error| error as _)
        }
    }
    let made = || -> AnyError { Box::new(Failure("here", Some(io::ErrorKind::NotFound.into()))) };
    let found = sent(made());
    assert_eq!((found.to_string(), format!("{found:?}")), (made().to_string(), format!("{:?}", made())));
    assert_eq!(found.source().unwrap().to_string(), io::ErrorKind::NotFound.to_string());
    assert!(found.source().unwrap().source().is_none());
    assert_eq!(format!("{:>8}", sent(AnyError::from("text"))), "    text");
    let text = || (String::from("text"), String::from("debugged"));
    let with_causes = |count| Encoder::encoded((text(), vec![text(); count])).unwrap();
    assert!(Decoder::decoded::<AnyError>(&with_causes(64)).is_ok());
    assert!(Decoder::decoded::<AnyError>(&with_causes(65)).is_err());
}

#[test]
fn an_error_of_input_and_output_keeps_its_code_or_kind_and_its_texts() {
    let cut = <&[u8] as io::Read>::read_exact(&mut &b"ab"[..], &mut [0; 3]).unwrap_err();
    let errors = [
        || io::Error::from_raw_os_error(2),
        || io::Error::from(io::ErrorKind::TimedOut),
        || io::Error::new(io::ErrorKind::InvalidData, "what it is"),
        || io::Error::other(io::Error::from_raw_os_error(13)),
    ];
    for made in errors {
        let (error, found) = (made(), sent(made()));
        assert_eq!((found.kind(), found.raw_os_error()), (error.kind(), error.raw_os_error()));
        assert_eq!((found.to_string(), format!("{found:?}")), (error.to_string(), format!("{error:?}")));
    }
    let (text, kind) = (cut.to_string(), cut.kind());
    assert_eq!((sent(cut).to_string(), kind), (text, io::ErrorKind::UnexpectedEof));
}

#[test]
fn a_range_that_was_iterated_to_its_end_stays_at_its_end() {
    let (mut begun, mut ended) = (1..=3_u8, 'a'..='c');
    begun.next();
    ended.by_ref().for_each(drop);
    survives((begun, ended, 7..=7_u64, std::ops::RangeInclusive::new(7, 5)));
    survives(1.5..=2.5);
}

#[test]
fn small_data_is_flat_and_what_owns_memory_is_not() {
    assert_eq!(<[u64; 3]>::SHAPE, Shape::Plain);
    assert_eq!(<[(u32, (f32, [u32; 2])); 2]>::SHAPE, Shape::Packed);
    assert_eq!(<(u32, (bool, u8, u16), [NonZeroU16; 2])>::SHAPE, Shape::Dense);
    assert_eq!(<(u8, u64)>::SHAPE, Shape::Bounded(9), "it has padding");
    assert_eq!(<(u8, Option<[u32; 2]>, Duration)>::SHAPE, Shape::Bounded(1 + 9 + 12));
    assert_eq!(<(u8, Option<String>)>::SHAPE, Shape::Unbounded);
    assert_eq!(Vec::<u8>::SHAPE, Shape::Unbounded);
}

#[derive(NoRef, Clone, Debug, PartialEq)]
struct Padded {
    first: u8,
    number: u64,
    last: u8,
}

#[derive(NoRef, Clone, Debug, PartialEq)]
struct Edge<W> {
    from: u16,
    weight: W,
    to: (u16, [u16; 2]),
}

#[derive(NoRef, Clone, Debug, PartialEq)]
enum Kinds {
    None,
    Some(Padded, bool),
    Other { _number: u128 },
}

#[test]
fn what_is_derived_knows_how_many_bytes_its_values_make() {
    #[derive(NoRef)]
    struct Dense(u32, (u16, bool, i8));
    #[derive(NoRef)]
    enum List {
        Next(Box<List>),
    }
    assert_eq!((Dense::SHAPE, Edge::<u32>::SHAPE), (Shape::Dense, Shape::Packed));
    assert_eq!((Edge::<bool>::SHAPE, Edge::<u128>::SHAPE), (Shape::Bounded(9), Shape::Bounded(24)));
    assert_eq!(List::SHAPE, Shape::Unbounded);
    assert_eq!((Padded::SHAPE, Kinds::SHAPE), (Shape::Bounded(10), Shape::Bounded(8 + 16)));
    survives(vec![Kinds::None, Kinds::Some(Padded { first: 1, number: 2, last: 3 }, true)]);
    survives(Kinds::Other { _number: 5 });
}

#[test]
fn rows_of_tuples_and_structs_without_padding_go_as_they_are() {
    let edge = |number: u32| Edge { from: number as u16, weight: number, to: (1, [number as u16; 2]) };
    let pairs: Vec<_> = (0..3).map(|number: u32| (number, [number; 2])).collect();
    assert_eq!(Encoder::encoded(pairs.clone()).unwrap().len(), 8 + size_of_val(&pairs[..]));
    survives((pairs, (0..9).map(edge).collect::<Vec<_>>(), [(1_u8, 2_u8), (3, 4)]));
    // Long rows travel apart, and are not copied.
    let edges: Vec<_> = (0..5000).map(edge).collect();
    let (start, sent) = (edges.as_ptr(), edges.clone());
    let mut rows = Encoder::marshal_in_rows(edges).unwrap().send();
    let arrived: Vec<Edge<u32>> = Decoder::decoded_rows(&mut rows).unwrap();
    assert!(arrived.as_ptr() == start && arrived == sent);

    #[derive(NoRef)]
    struct Counted(u32);
    static DROPPED: AtomicU32 = AtomicU32::new(0);
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPPED.fetch_add(self.0, Relaxed);
        }
    }
    for count in [3, 5000] {
        let mut rows =
            Encoder::marshal_in_rows((0..count).map(|_| Counted(1)).collect::<Vec<_>>()).unwrap().send();
        let arrived: Vec<Counted> = Decoder::decoded_rows(&mut rows).unwrap();
        assert_eq!((arrived.len(), DROPPED.swap(0, Relaxed)), (count, 0));
        drop(arrived);
        assert_eq!(DROPPED.swap(0, Relaxed), count as u32);
    }
}

#[test]
#[should_panic(expected = "cannot travel")]
fn more_elements_than_a_length_can_tell_do_not_travel() {
    let _panics = Encoder::encoded(vec![(); 1 << 63]);
}

#[test]
fn padding_stays_where_it_is() {
    let value = Padded { first: 1, number: u64::from_ne_bytes([2; 8]), last: 3 };
    let mut words = [Word::new(u64::MAX); 2];
    Encoder::fill(&mut words, value.clone());
    // SAFETY: numbers were written.
    #[expect(unsafe_code, reason = "words as numbers")]
    let words = unsafe { initialised(&words) };
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    assert_eq!(bytes, [1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 0, 0, 0, 0, 0, 0]);
    assert_eq!(Decoder::decoded_first::<Padded>(&bytes), Ok(value));
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
    assert!(refused.refusal.to_string().contains("ByHand"), "{refused:?}");
}

#[test]
fn what_does_not_leave_comes_back_whole() {
    /// Stays if it is odd.
    #[derive(Debug, PartialEq)]
    struct Even(u8);
    // SAFETY: it holds a number, and reads what it has written.
    #[expect(unsafe_code, reason = "`NoRef` is an unsafe trait")]
    unsafe impl NoRef for Even {
        fn encode(self, to: &mut Encoder) {
            if self.0.is_multiple_of(2) { self.0.encode(to) } else { to.refuse(self) }
        }

        fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
            from.given_back().map_or_else(|| u8::decode(from).map(Self), Ok)
        }
    }
    let value = || (String::from("x"), vec![Even(2), Even(3), Even(4), Even(5)], vec![7_u64; 5000], Even(7));
    let refused = Encoder::marshal_in_rows(value()).unwrap_err();
    assert_eq!(refused.value, Some(value()));
    let mut roomy = Vec::with_capacity(9000);
    roomy.extend([7_u64; 5000]);
    let refused = Encoder::marshal_in_rows((Even(1), roomy)).unwrap_err();
    assert_eq!(refused.value, Some((Even(1), vec![7; 5000])), "a vector with room for more was lost");

    struct Counted(#[expect(dead_code, reason = "it is counted")] Rc<()>);
    // SAFETY: not sent to any other thread.
    #[expect(unsafe_code, reason = "`Send` is an unsafe trait")]
    unsafe impl Send for Counted {}
    // SAFETY: as above.
    #[expect(unsafe_code, reason = "`NoRef` is an unsafe trait")]
    unsafe impl NoRef for Counted {}
    let count = Rc::new(());
    drop(Encoder::marshal((1_u8, Some(Counted(Rc::clone(&count))))));
    assert_eq!(Rc::strong_count(&count), 1);
}

#[test]
fn the_shape_of_a_long_array_is_known_without_a_look_at_each_element() {
    const LONG: usize = 1 << 40;
    assert_eq!(<[u64; LONG]>::SHAPE, Shape::Plain);
    assert_eq!(<[bool; LONG]>::SHAPE, Shape::Dense);
    assert_eq!(<[Option<u8>; LONG]>::SHAPE, Shape::Bounded(2 * LONG));
    assert_eq!(<[Option<u64>; LONG]>::SHAPE, Shape::Bounded(9 * LONG));
    assert_eq!(<[String; LONG]>::SHAPE, Shape::Unbounded);
    assert_eq!(<[String; 0]>::SHAPE, Shape::Dense);
}
