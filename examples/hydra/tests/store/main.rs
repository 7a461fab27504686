//! Runs hydra as its users do, with clients that speak to it byte by byte.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod bitfields;
mod client;
mod commands;
mod containers;
mod databases;
mod elements;
mod ending;
mod expiry;
mod forms;
mod fractions;
mod information;
mod limits;
mod manual;
mod patterns;
mod program;
mod publishing;
mod redis;
mod refusals;
mod requests;
mod roles;
mod servers;
mod settings;
mod several;
mod snapshots;
mod sorting;
mod system;
mod turns;
