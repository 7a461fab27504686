//! TLS streams: between fibers, and with openssl's client and server.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by it")]

mod authority;
mod fibers;
mod openssl;
