//! `gossamer status --health`: whether the daemon of this machine is alive, for probes.

use crate::exit::{Failure, UNREACHABLE};
use crate::query::ask::ask;
use crate::query::output::{complain, print, print_json};
use crate::rack::config::{Machine, Rack};
use crate::rack::protocol::{Health, Reply, Request};
use crate::secure::key::Key;
use crate::terminal::table;
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

/// `gossamer status --health`
///
/// # Errors
/// If the configuration is wrong, or nothing can be printed.
pub async fn health(config: &Path, as_json: bool) -> Result<u8, Failure> {
    let rack = Rack::read(config)?;
    let key = Key::read(&rack.key)?;
    let machine =
        Machine { name: "the daemon of this machine".into(), address: own_address(rack.listen()), slots: 1 };
    let answer = ask(machine, rack, key, Request::Health).await;
    let (version, milliseconds) = (answer.version, answer.seconds * 1000.0);
    let why = match answer.reply {
        Ok(Reply::Health(Health { up_seconds, applications, nodes })) => {
            match as_json {
                true => print_json(&json!({
                    "alive": true, "version": version, "milliseconds": milliseconds, "up_seconds": up_seconds,
                    "applications": applications, "nodes": nodes,
                })),
                false => print(
                    format!(
                        "alive: gossamer {version}, up {}, {applications} applications, {nodes} nodes\n",
                        table::duration(up_seconds)
                    )
                    .as_bytes(),
                ),
            }?;
            return Ok(0);
        }
        Ok(_) => "the daemon of this machine does not keep to the protocol".into(),
        Err(failure) => failure.message,
    };
    if as_json {
        print_json(&json!({ "alive": false, "error": why }))?;
    }
    complain(&why);
    Ok(UNREACHABLE)
}

/// Where this machine reaches a daemon that listens at an address.
fn own_address(listen: &str) -> String {
    match listen.parse::<SocketAddr>() {
        Ok(mut address) if address.ip().is_unspecified() => {
            address.set_ip(match address.ip() {
                IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
            });
            address.to_string()
        }
        _ => listen.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_that_listens_everywhere_is_reached_by_loopback() {
        assert_eq!(own_address("0.0.0.0:7411"), "127.0.0.1:7411");
        assert_eq!(own_address("[::]:7411"), "[::1]:7411");
        assert_eq!(own_address("10.0.0.1:7411"), "10.0.0.1:7411");
    }
}
