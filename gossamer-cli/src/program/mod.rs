//! The program that is launched, on its way to the machines that run it.
//!
//! A launcher is handed a command line, and gets the file and what machines are told of it ([`find`]),
//! and of its nodes ([`settings`]). A daemon is handed
//! the hash and the bytes, and gets a file to execute ([`upload`], [`cache`]).

pub mod cache;
pub mod find;
pub mod settings;
#[cfg(test)]
mod tests;
pub mod upload;
