//! The program that is launched, on its way to the machines that run it.
//!
//! A launcher passes a command line, and gets the file, and what machines are told about it ([`find`]) and about its
//! nodes ([`settings`]). A daemon passes the hash and the bytes, and gets a file to execute ([`upload`], [`cache`]).

pub mod cache;
pub mod find;
pub mod settings;
#[cfg(test)]
mod tests;
pub mod upload;
