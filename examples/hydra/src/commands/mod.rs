//! What each command does.

mod client;
mod introspection;
mod keyspace;
mod persistence;
mod server;
mod several;
pub mod table;
pub mod transactions;
