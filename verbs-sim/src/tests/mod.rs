//! Tests: the rules of libibverbs and of the InfiniBand architecture, each as a sentence.

mod completions;
mod devices;
mod errors;
mod events;
mod keys;
mod kit;
mod processes;
mod work;
