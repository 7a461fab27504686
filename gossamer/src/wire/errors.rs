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

/// What an error displays, how it is debugged, and the same of its causes.
type Texts = Vec<(String, String)>;

/// Causes that travel. A chain that is longer than this is a loop, most likely.
const MOST_CAUSES: usize = 64;

/// An error that happened on another node. It displays and debugs as it did there; its type stayed there.
struct TextError {
    text: String,
    debugged: String,
    cause: Option<Box<Self>>,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl fmt::Debug for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.debugged)
    }
}

impl Error for TextError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

fn texts(error: &(dyn Error + 'static)) -> Texts {
    let mut next = Some(error);
    let chain = std::iter::from_fn(|| {
        let error = next?;
        next = error.source();
        Some(error)
    });
    chain.take(1 + MOST_CAUSES).map(|error| (error.to_string(), format!("{error:?}"))).collect()
}

fn from_texts(texts: Texts) -> Option<AnyError> {
    if texts.len() > 1 + MOST_CAUSES {
        return None;
    }
    let around = |cause, (text, debugged)| Some(Box::new(TextError { text, debugged, cause }));
    texts.into_iter().rev().fold(None, around).map(|error| error as _)
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
        from_texts(Texts::decode(from)?).ok_or_else(Malformed::instead_of::<Self>)
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
