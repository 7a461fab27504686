//! Properties by name: one directory for all nodes, kept by worker 0.

use crate::lane::error::DelegationError;
use crate::lane::property::{ROOT, Root};
use crate::trust::apply::rethrow;
use crate::trust::call::Target;
use crate::trust::local::on_worker;
use crate::trust::{NoRef, Trust, entrust};
use crate::worker::{self, Worker, require_fiber};
use std::any::type_name;
use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

/// Makes a property here, as [`entrust`] does, under a name by which all nodes find it with [`Trust::named`].
///
/// The name keeps the property until the runtime ends, or [`forget_name`] is called.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use gossamer::Trust;
/// let mut hits = gossamer::entrust_as("hits", 0_u64).unwrap();
/// let same = gossamer::spawn(|| Trust::<u64>::named("hits").unwrap().apply(|hits| *hits += 1));
/// same.join();
/// assert_eq!(hits.apply(|hits| *hits), 1);
/// assert_eq!(
///     Trust::<String>::named("hits").unwrap_err().to_string(),
///     "the property \"hits\" is a `u64`, and not a `alloc::string::String`"
/// );
/// # });
/// ```
///
/// # Errors
/// If another property has the name; the value is then dropped.
///
/// # Panics
/// Where the caller cannot wait, and on a thread that is not a worker.
#[track_caller]
pub fn entrust_as<T: Send + 'static>(name: &str, value: T) -> Result<Trust<T>, NameError> {
    on_worker("entrust_as", "use a trust", |_| ());
    require_fiber("entrust_as");
    let trust = entrust(value);
    let note = |_: &mut Root, (name, trust): (String, Trust<T>)| {
        at_directory(|here| match here.names.add(&name, type_name::<T>(), trust) {
            Ok(()) => Ok(()),
            Err(other) => Err(NameError::Taken { name, kind: other.to_owned() }),
        })
    };
    ask_directory("entrust_as", note, (name.to_owned(), trust.clone()))?;
    Ok(trust)
}

/// Gives up a name, and returns whether it existed. Its property lives on as long as there is a trust of it.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use gossamer::{Trust, entrust_as, forget_name};
/// let count = entrust_as("visits", 7_u64).unwrap();
/// assert!(forget_name("visits"));
/// assert!(!forget_name("visits")); // there is none of this name any more
/// assert!(Trust::<u64>::named("visits").is_err());
/// assert_eq!(count.apply(|count| *count), 7); // the property lives on
/// # });
/// ```
///
/// # Panics
/// Where the caller cannot wait, and on a thread that is not a worker.
#[track_caller]
pub fn forget_name(name: &str) -> bool {
    let forget = |_: &mut Root, name: String| at_directory(|here| here.names.remove(&name));
    ask_directory("forget_name", forget, name.to_owned())
}

impl<T: 'static> Trust<T> {
    /// A trust of the property that was [entrusted under this name](entrust_as), on any node. It costs a request to
    /// worker 0, so keep the trust.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{NameError, Trust, entrust_as};
    /// entrust_as("visits", 7_u64).unwrap();
    /// let visits = Trust::<u64>::named("visits").unwrap(); // on any node
    /// assert_eq!(visits.apply(|count| *count), 7);
    /// assert!(matches!(Trust::<String>::named("visits"), Err(NameError::OtherType { .. })));
    /// assert!(matches!(Trust::<u64>::named("visitors"), Err(NameError::Unknown { .. })));
    /// # });
    /// ```
    ///
    /// # Errors
    /// If no property has the name, or the property is of another type.
    ///
    /// # Panics
    /// Where the caller cannot wait, and on a thread that is not a worker.
    #[track_caller]
    pub fn named(name: &str) -> Result<Self, NameError> {
        let look_up = |_: &mut Root, name: String| {
            at_directory(|here| match here.names.get::<Trust<T>>(&name) {
                Some(Ok(trust)) => Ok(trust),
                Some(Err(kind)) => {
                    let (kind, asked) = (kind.to_owned(), type_name::<T>().to_owned());
                    Err(NameError::OtherType { name, kind, asked })
                }
                None => Err(NameError::Unknown { name }),
            })
        };
        ask_directory("Trust::named", look_up, name.to_owned())
    }
}

/// Why a name does not lead to a property.
#[derive(Clone, Debug, PartialEq, Eq, gossamer_macros::NoRef)]
#[non_exhaustive]
pub enum NameError {
    /// No property has the name.
    #[non_exhaustive]
    Unknown {
        /// The name.
        name: String,
    },
    /// Another property has the name.
    #[non_exhaustive]
    Taken {
        /// The name.
        name: String,
        /// The type of that property.
        kind: String,
    },
    /// The property of this name is of another type.
    #[non_exhaustive]
    OtherType {
        /// The name.
        name: String,
        /// The type of the property.
        kind: String,
        /// The type that was asked for.
        asked: String,
    },
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => {
                write!(f, "no property is named {name:?}: `entrust_as` it first, on any node")
            }
            Self::Taken { name, kind } => {
                write!(
                    f,
                    "another property is named {name:?}, a `{kind}`: names are given once, or forgotten by `forget_name`"
                )
            }
            Self::OtherType { name, kind, asked } => {
                write!(f, "the property {name:?} is a `{kind}`, and not a `{asked}`")
            }
        }
    }
}

impl Error for NameError {}

/// Runs `f` with worker 0, on it.
fn at_directory<R>(f: impl FnOnce(&Worker) -> R) -> R {
    match worker::with(|worker| worker.map(f)) {
        Some(result) => result,
        None => unreachable!("a trustee runs on its worker"),
    }
}

/// Makes worker 0 of the first node apply a closure of this crate.
#[track_caller]
fn ask_directory<C: NoRef, U: NoRef, F>(call: &'static str, closure: F, arguments: C) -> U
where
    F: FnOnce(&mut Root, C) -> U + Send,
{
    let shared = on_worker(call, "use a trust", |here| here.shared.clone());
    let target: Target<'_, Root> =
        Target { shared: &shared, number: shared.base, property: ROOT, of: PhantomData };
    let outcome: Result<U, DelegationError> = target.call::<Directory, _, _, _>(call, closure, arguments);
    match outcome {
        Ok(result) => result,
        Err(error) => rethrow(error, Location::caller()),
    }
}

/// What reports name.
struct Directory;
