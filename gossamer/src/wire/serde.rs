//! [`Serde`]: values of types that know serde and not this crate.
#![expect(unsafe_code, reason = "`NoRef` is an unsafe trait; no memory is touched here")]

use crate::wire::NoRef;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::{Malformed, Why};
use crate::wire::serde_whole::Whole;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

/// A value of a type that implements serde's traits, of another crate perhaps: it travels with them, in the format postcard. Inside a
/// process it is moved as it is.
///
/// That format does not describe itself, so what has to look at the data to know its form cannot be read back: types with
/// `#[serde(untagged)]`, `#[serde(tag = …)]`, `#[serde(flatten)]`, or `#[serde(skip_serializing_if = …)]`, and with them
/// `serde_json::Value`, which is best sent as its text; nor can a field with `#[serde(skip_serializing)]` alone. A request
/// with one fails with an error that says so. A field that is left out and `flatten` are noticed by the sender, which keeps
/// the value. The others are noticed where they are read: what stands behind such a value in the same request is lost there.
/// Trusts are kept until the end of the runtime, and the other end of a stream waits; so send the ends of streams in requests
/// of their own.
///
/// ```
/// # gossamer::rack::run_in_process(2, gossamer::Config::default(), || {
/// use gossamer::Serde;
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Point { x: f64, y: f64 }
/// let there = gossamer::rack::workers()[1].entrust(2.0_f64);
/// let scaled = there.apply_with(
///     const { |factor, Serde(point): Serde<Point>| Serde(Point { x: point.x * *factor, y: point.y * *factor }) },
///     Serde(Point { x: 1.0, y: 2.5 }),
/// );
/// assert_eq!((scaled.0.x, scaled.0.y), (2.0, 5.0));
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Serde<T>(pub T);

// SAFETY: (1) what can be deserialised from any bytes borrows from nothing. (2) It reads the vector that it wrote.
unsafe impl<T: Serialize + DeserializeOwned + Send + 'static> NoRef for Serde<T> {
    fn encode(self, to: &mut Encoder) {
        // What was encoded before must not be lost by a panic of the program.
        let left_out = Cell::new(None);
        let write = || postcard::to_allocvec(&Whole::new(&self.0, &left_out));
        let written = panic::catch_unwind(AssertUnwindSafe(write));
        match written {
            Ok(Ok(bytes)) => bytes.encode(to),
            // A type that refuses this very value.
            Ok(Err(error)) => to.refuse_because(self, Why::Serde(reason(&error, left_out.get()))),
            Err(payload) => {
                to.refuse_because(self, Why::Serde(format!("it panicked: {}", text_of(&*payload))))
            }
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        if let Some(itself) = from.given_back() {
            return Ok(itself);
        }
        let bytes = Vec::<u8>::decode(from)?;
        postcard::from_bytes(&bytes).map(Self).map_err(|_| Malformed::for_serde::<T>())
    }
}

/// As the value itself, so that it may be a field of a type that derives both serde's traits and `NoRef`.
impl<T: Serialize> Serialize for Serde<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

/// As the value itself.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Serde<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::deserialize(from).map(Self)
    }
}

/// Why a value was not written, and what to do.
fn reason(error: &postcard::Error, left_out: Option<&'static str>) -> String {
    const ADVICE: &str = "derive `gossamer::NoRef` for such a type, or send its text";
    match (left_out, error) {
        (Some(field), _) => format!(
            "it leaves out the field `{field}` (`#[serde(skip_serializing_if)]`), which a reader of the format postcard would \
             miss; {ADVICE}"
        ),
        (None, postcard::Error::SerializeSeqLengthUnknown) => format!(
            "the format postcard needs the number of entries in advance, which a type with `#[serde(flatten)]` does not \
             know; {ADVICE}"
        ),
        (None, error) => error.to_string(),
    }
}

fn text_of(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a text")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[derive(Serialize, Deserialize, Debug)]
    #[serde(untagged)]
    enum Value {
        Number(u64),
        Text(String),
    }

    #[test]
    fn what_the_format_cannot_do_is_said() {
        for value in [Value::Number(3), Value::Text("x".into())] {
            let bytes = Encoder::encoded(Serde(value)).unwrap();
            let error = Decoder::decoded::<Serde<Value>>(&bytes).unwrap_err().to_string();
            assert!(error.contains("Value") && error.contains("untagged"), "{error}");
        }
    }

    #[derive(Serialize, Deserialize, Debug)]
    struct Sparse {
        #[serde(skip_serializing_if = "Option::is_none", default)]
        name: Option<u8>,
        first: u8,
        second: u8,
        rest: Vec<u8>,
    }

    #[derive(Serialize, Deserialize, Debug)]
    struct Flat {
        first: u8,
        #[serde(flatten)]
        rest: std::collections::BTreeMap<String, u8>,
    }

    #[test]
    fn a_field_that_is_left_out_is_refused_although_what_follows_could_be_read_in_its_place() {
        let sparse = |name| Sparse { name, first: 0, second: 5, rest: vec![1, 9] };
        for values in [vec![sparse(None)], vec![sparse(Some(3)), sparse(None)]] {
            let refused = Encoder::marshal(Serde(values)).unwrap_err().refusal.to_string();
            let parts = ["Sparse", "field `name`", "skip_serializing_if", "derive `gossamer::NoRef`"];
            assert!(parts.iter().all(|part| refused.contains(part)), "{refused}");
        }
        let bytes = Encoder::encoded(Serde(sparse(Some(3)))).unwrap();
        let read = Decoder::decoded::<Serde<Sparse>>(&bytes).unwrap().0;
        assert_eq!((read.name, read.first, read.second, read.rest), (Some(3), 0, 5, vec![1, 9]));
    }

    #[test]
    fn a_type_that_is_flattened_is_refused_by_the_name_of_its_attribute() {
        let flat = Flat { first: 1, rest: std::iter::once(("a".to_owned(), 2)).collect() };
        let refused = Encoder::marshal(Serde(flat)).unwrap_err().refusal.to_string();
        assert!(refused.contains("Flat") && refused.contains("serde(flatten)"), "{refused}");
    }

    #[derive(Serialize, Deserialize, gossamer_macros::NoRef, Debug, PartialEq)]
    struct Both {
        count: u64,
        names: Serde<Vec<String>>,
    }

    #[test]
    fn a_field_may_travel_by_serde_in_a_type_that_serde_writes_as_well() {
        let both = || Both { count: 3, names: Serde(vec!["tea".to_owned()]) };
        let bytes = Encoder::encoded(both()).unwrap();
        assert_eq!(Decoder::decoded(&bytes), Ok(both()));
        let bytes = Encoder::encoded(Serde(both())).unwrap();
        assert_eq!(Decoder::decoded(&bytes), Ok(Serde(both())));
        let plain: (u64, Vec<String>) =
            postcard::from_bytes(&postcard::to_allocvec(&both()).unwrap()).unwrap();
        assert_eq!(plain, (3, vec!["tea".to_owned()]));
    }

    /// Cannot be written.
    #[derive(Deserialize, Debug)]
    struct Fails;

    impl Serialize for Fails {
        fn serialize<S: Serializer>(&self, _to: S) -> Result<S::Ok, S::Error> {
            panic!("not to be written")
        }
    }

    struct Stays(#[expect(dead_code, reason = "it is counted")] Rc<()>);
    // SAFETY: not sent to any other thread.
    unsafe impl Send for Stays {}
    // SAFETY: as above.
    unsafe impl NoRef for Stays {}

    #[test]
    fn a_panic_of_the_program_while_it_writes_loses_nothing() {
        let count = Rc::new(());
        let refused = Encoder::marshal((Stays(Rc::clone(&count)), Serde(Fails))).unwrap_err();
        assert!(refused.value.is_some());
        drop(refused);
        let refused = Encoder::marshal(Serde(Fails)).unwrap_err();
        assert!(refused.refusal.to_string().contains("not to be written"), "{refused:?}");
        assert_eq!(Rc::strong_count(&count), 1);
    }
}
