//! Panics of delegated closures: caught with their source line, and not printed where they happen, since they reach
//! their caller and are printed there.

use crate::lane::context::{self, Context};
use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

/// The message of a panic whose payload is neither a `String` nor a `&str`.
const NO_TEXT: &str = "a panic whose payload is not text";

/// A caught panic.
#[derive(Debug)]
pub(crate) struct Caught {
    pub(crate) message: String,
    /// `file:line:column`, unless another panic hook hid it.
    pub(crate) place: Option<String>,
}

/// Panics whose place is kept until they are caught: there are more only where destructors panic.
const NOTED: usize = 8;

thread_local! {
    /// Message and place of the latest panics: destructors that run while one unwinds may also panic and catch.
    static PLACES: RefCell<VecDeque<(String, String)>> = const { RefCell::new(VecDeque::new()) };
}

/// Installs, once per process, the hook that notes the place of a panic in a delegated closure. All other panics go
/// on to the previous hook.
pub(crate) fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let context = context::current();
            if matches!(context, Context::Delegated | Context::Fiber | Context::Steady) {
                let message = info.payload_as_str().unwrap_or(NO_TEXT).to_owned();
                note(message, info.location().map(ToString::to_string).unwrap_or_default());
            }
            if context != Context::Delegated {
                previous(info);
            }
        }));
    });
}

fn note(message: String, place: String) {
    PLACES.with_borrow_mut(|places| {
        if places.len() == NOTED {
            places.pop_front();
        }
        places.push_back((message, place));
    });
}

/// Where the latest panic with this message happened. That one and later ones, which were caught elsewhere, are
/// forgotten.
fn place_of(message: &str) -> Option<String> {
    PLACES.with_borrow_mut(|places| {
        let found = places.iter().rposition(|(noted, _)| noted == message)?;
        places.drain(found..).next().map(|(_, place)| place)
    })
}

/// Runs `f`, which is (a part of) a delegated closure, and catches its panic.
#[inline(always)]
pub(crate) fn delegated<R>(f: impl FnOnce() -> R) -> Result<R, Caught> {
    let _restore = context::enter(Context::Delegated);
    panic::catch_unwind(AssertUnwindSafe(f)).map_err(caught)
}

/// Runs `f`, whose panic can reach nobody; the hook reports it.
#[inline(always)]
pub(crate) fn contained(f: impl FnOnce()) {
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(f)) {
        drop(message(payload));
    }
}

/// The message of a panic's payload, with the place that the hook noted.
#[cold]
#[inline(never)]
pub(crate) fn caught(payload: Box<dyn Any + Send>) -> Caught {
    let message = message(payload);
    let place = place_of(&message);
    Caught { message, place }
}

/// Resumes a caught panic, whose place stays known.
#[cold]
#[inline(never)]
pub(crate) fn resume(Caught { message, place }: Caught) -> ! {
    if let Some(place) = place {
        note(message.clone(), place);
    }
    panic::resume_unwind(Box::new(message))
}

/// Resumes a panic with a longer message.
#[cold]
#[inline(never)]
pub(crate) fn resume_saying(payload: Box<dyn Any + Send>, more: impl FnOnce(String) -> String) -> ! {
    let Caught { message, place } = caught(payload);
    resume(Caught { message: more(message), place })
}

#[cold]
fn message(payload: Box<dyn Any + Send>) -> String {
    let payload = match payload.downcast::<String>() {
        Ok(text) => return *text,
        Err(payload) => payload,
    };
    match payload.downcast::<&'static str>() {
        Ok(text) => (*text).to_owned(),
        Err(payload) => {
            discard(payload);
            NO_TEXT.to_owned()
        }
    }
}

/// Drops a payload, whose `drop` may panic with a payload whose `drop` may panic too, which could go on for ever.
fn discard(mut payload: Box<dyn Any + Send>) {
    for _ in 0..NOTED {
        match panic::catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    std::mem::forget(payload);
}
