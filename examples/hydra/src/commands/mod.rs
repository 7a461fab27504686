//! What each command does.

mod bits;
pub mod catalog;
mod client;
mod configuration;
mod copies;
mod databases;
mod documentation;
mod fetching;
mod information;
mod intersections;
mod keyspace;
mod manual;
mod moves;
pub mod names;
mod persistence;
mod pops;
mod publishing;
mod replication;
mod server;
mod several;
mod sorted_sets;
mod sorting;
pub mod subcommands;
mod subsequence;
pub mod table;
pub mod transactions;
