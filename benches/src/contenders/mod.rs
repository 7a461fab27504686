//! The contenders, one file per family.

pub mod actors;
pub mod files;
pub mod gossamer;
pub mod http;
pub mod locks;
pub mod maps;
pub mod memory;
pub mod plain;
pub mod ring;
#[cfg(feature = "rpc")]
pub mod rpc;
pub mod sockets;
pub mod streams;
pub mod tools;
