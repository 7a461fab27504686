//! How `#[gossamer::main]` runs a function in a runtime and gets its result out, if need be as text.

use crate::rack::run::main;
use crate::wire::errors::as_text;
use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::process;
use std::thread;

/// A function that returns `R`, as run by [`AsItIs`], [`AsText`] or [`OrExit`]: the method call resolves to the first
/// of them that applies.
#[derive(Debug)]
pub struct Program<R>(PhantomData<fn() -> R>);

impl<R> Program<R> {
    /// For a function that returns such a value.
    #[expect(clippy::new_without_default, reason = "only the macro calls it")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }

    /// For a result that fits none of these: a compile error.
    #[doc(hidden)]
    pub fn run_program(&self, _threads: Option<usize>, _f: impl FnOnce() -> R) -> R
    where
        R: LeavesTheRuntime,
    {
        unreachable!("no type is that")
    }
}

/// What a function below `#[gossamer::main]` may return besides: nothing.
#[diagnostic::on_unimplemented(
    message = "a function marked #[gossamer::main] cannot return `{Self}`: it runs on a worker, and this cannot be sent to another thread",
    label = "not `Send`",
    note = "return what is `Send`, such as an `ExitCode`, or a `Result` of that whose error is `Debug`"
)]
pub trait LeavesTheRuntime {}

/// The result is `Send`.
pub trait AsItIs<R> {
    #[doc(hidden)]
    fn run_program(&self, threads: Option<usize>, f: impl FnOnce() -> R + Send + 'static) -> R;
}

impl<R: Send + 'static> AsItIs<R> for &&&Program<R> {
    #[track_caller]
    fn run_program(&self, threads: Option<usize>, f: impl FnOnce() -> R + Send + 'static) -> R {
        main(threads, f)
    }
}

/// The error is any boxed error: its text is `Send`.
pub trait AsText<T> {
    #[doc(hidden)]
    fn run_program(
        &self,
        threads: Option<usize>,
        f: impl FnOnce() -> Result<T, Box<dyn Error>> + Send + 'static,
    ) -> Result<T, Box<dyn Error>>;
}

impl<T: Send + 'static> AsText<T> for &&Program<Result<T, Box<dyn Error>>> {
    #[track_caller]
    fn run_program(
        &self,
        threads: Option<usize>,
        f: impl FnOnce() -> Result<T, Box<dyn Error>> + Send + 'static,
    ) -> Result<T, Box<dyn Error>> {
        main(threads, || f().map_err(|error| as_text(&*error))).map_err(|error| error as _)
    }
}

/// The error is `Debug`, as `main` wants it: it is printed as `main` prints it.
pub trait OrExit<T, E> {
    #[doc(hidden)]
    fn run_program(
        &self,
        threads: Option<usize>,
        f: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>;
}

impl<T: Send + 'static, E: fmt::Debug> OrExit<T, E> for &Program<Result<T, E>> {
    #[track_caller]
    fn run_program(
        &self,
        threads: Option<usize>,
        f: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        match main(threads, || f().map_err(|error| format!("{error:?}"))) {
            Ok(result) => Ok(result),
            Err(text) if thread::current().name() == Some("main") => {
                eprintln!("Error: {text}");
                process::exit(1)
            }
            // For example in a test, whose process goes on.
            Err(text) => panic!("Error: {text}"),
        }
    }
}
