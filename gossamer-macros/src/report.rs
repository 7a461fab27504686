//! Collects the errors of one expansion, so that all of them are reported at once.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::Error;

use crate::messages::Message;

/// The errors found so far in one item.
#[derive(Default)]
pub(crate) struct Report {
    errors: Option<Error>,
}

impl Report {
    /// Adds `message`, with the caret on `culprit`.
    pub(crate) fn add(&mut self, culprit: impl ToTokens, message: &Message, parts: &[(&str, &str)]) {
        self.add_error(Error::new_spanned(culprit, message.with(parts)));
    }

    /// Adds an error that syn has found.
    pub(crate) fn add_error(&mut self, error: Error) {
        match &mut self.errors {
            Some(errors) => errors.combine(error),
            None => self.errors = Some(error),
        }
    }

    /// The number of errors so far: callers compare it to learn whether a step has added one.
    pub(crate) fn len(&self) -> usize {
        self.errors.iter().flatten().count()
    }

    /// One `compile_error!` for each error, to be emitted beside the item.
    pub(crate) fn into_compile_errors(self) -> TokenStream {
        self.errors.map(Error::into_compile_error).unwrap_or_default()
    }
}
