//! What each command does.

mod bits;
mod catalog;
mod client;
mod copies;
mod fetching;
mod intersections;
mod introspection;
mod keyspace;
mod moves;
pub mod names;
mod persistence;
mod pops;
mod publishing;
mod server;
mod several;
mod sorted_sets;
mod subsequence;
pub mod table;
pub mod transactions;
