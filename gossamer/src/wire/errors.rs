//! [`NoRef`] for errors that may hold an error of any type: within a process they are moved as they are, and to another
//! node their texts travel.
#![expect(unsafe_code, reason = "`NoRef` is an unsafe trait; no memory is touched here")]

use crate::wire::NoRef;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::Malformed;
use std::error::Error;
use std::fmt;
use std::io;

/// An error of any type.
type AnyError = Box<dyn Error + Send + Sync>;

/// What an error displays, and how it is debugged.
type ErrorText = (String, String);

/// Causes that travel. A chain that is longer than this is a loop, most likely.
const MOST_CAUSES: usize = 64;

/// An error that stayed where it happened. It displays and debugs as it did there.
struct TextError {
    text: ErrorText,
    cause: Option<Box<Self>>,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text.0)
    }
}

impl fmt::Debug for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text.1)
    }
}

impl Error for TextError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

/// An error that says the same, with its causes, and may leave its thread.
pub(crate) fn as_text(error: &(dyn Error + 'static)) -> AnyError {
    let (text, causes) = texts(error);
    from_texts(text, causes)
}

/// Those of an error, and of its causes.
fn texts(error: &(dyn Error + 'static)) -> (ErrorText, Vec<ErrorText>) {
    let text = |error: &(dyn Error + 'static)| (error.to_string(), format!("{error:?}"));
    let mut next = error.source();
    let causes = std::iter::from_fn(|| {
        let cause = next?;
        next = cause.source();
        Some(text(cause))
    });
    (text(error), causes.take(MOST_CAUSES).collect())
}

fn from_texts(text: ErrorText, causes: Vec<ErrorText>) -> AnyError {
    let around = |cause, text| Some(Box::new(TextError { text, cause }));
    let cause = causes.into_iter().rev().fold(None, around);
    Box::new(TextError { text, cause })
}

/// An [`io::Error`], taken apart.
#[derive(gossamer_macros::NoRef)]
enum ErrorParts {
    /// Of the operating system, which is the same on all nodes.
    Os(i32),
    Kind(io::ErrorKind),
    Other(io::ErrorKind, AnyError),
}

fn into_parts(error: io::Error) -> ErrorParts {
    if let Some(code) = error.raw_os_error() {
        return ErrorParts::Os(code);
    }
    let kind = error.kind();
    // Without one of its own it may have a text that is part of the program.
    let text = error.to_string();
    match error.into_inner() {
        Some(inner) => ErrorParts::Other(kind, inner),
        None if text == kind.to_string() => ErrorParts::Kind(kind),
        None => ErrorParts::Other(kind, text.into()),
    }
}

fn from_parts(parts: ErrorParts) -> io::Error {
    match parts {
        ErrorParts::Os(code) => io::Error::from_raw_os_error(code),
        ErrorParts::Kind(kind) => kind.into(),
        ErrorParts::Other(kind, inner) => io::Error::new(kind, inner),
    }
}

// SAFETY: (1) nobody knows what it holds, but that this is `'static`, and may go to another thread and be dropped there; to
// another node only texts go. (2) It reads the texts that it wrote.
#[diagnostic::do_not_recommend]
unsafe impl NoRef for AnyError {
    fn encode(self, to: &mut Encoder) {
        texts(&*self).encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let (text, causes) = <(ErrorText, Vec<ErrorText>)>::decode(from)?;
        if causes.len() > MOST_CAUSES {
            return Err(Malformed::instead_of::<Self>());
        }
        Ok(from_texts(text, causes))
    }
}

// SAFETY: (1) it is data, or holds an error of any type, as above. (2) It reads the parts that it wrote.
#[diagnostic::do_not_recommend]
unsafe impl NoRef for io::Error {
    fn encode(self, to: &mut Encoder) {
        into_parts(self).encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        ErrorParts::decode(from).map(from_parts)
    }
}
