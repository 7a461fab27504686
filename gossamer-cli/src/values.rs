//! Values of options, as users write them, for any room that has the option.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// The least memory of a node: not even a shell starts with less.
const LEAST_MEMORY: u64 = 1 << 20;

/// `90`, which are seconds, `5m`, `1h 30m`.
///
/// # Errors
/// If it is not a time, or is zero.
pub fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().map(Duration::from_secs);
    let duration =
        seconds.map_or_else(|| humantime::parse_duration(text), Ok).map_err(|error| error.to_string())?;
    match duration.is_zero() {
        true => Err("is not longer than zero".into()),
        false => Ok(duration),
    }
}

/// The name of a file, whatever it is used for.
///
/// # Errors
/// If it is empty, or the working directory is not known.
pub fn absolute(text: &str) -> Result<PathBuf, String> {
    std::path::absolute(text).map_err(|error| error.to_string())
}

/// `9400`, a port on this machine only, or `address:port`.
///
/// # Errors
/// If it is neither.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let alone = || text.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    text.parse().or_else(|_| alone()).map_err(|_| "is neither a port nor address:port".into())
}

/// `512M`, `4G`: bytes, where units are powers of 1024.
///
/// # Errors
/// If it is not a size, or so small that another unit was probably meant.
pub fn memory(text: &str) -> Result<u64, String> {
    let size = parse_size::Config::new().with_binary().parse_size(text).map_err(|error| error.to_string())?;
    match size {
        0..LEAST_MEMORY => Err("is less than 1 MiB: give a unit, such as 512M".into()),
        size => Ok(size),
    }
}

/// `2`, `0.5`: returned in thousandths of a processor.
///
/// # Errors
/// If it is not a number, or makes no sense.
pub fn millicpus(text: &str) -> Result<u32, String> {
    let cpus = text.parse::<f64>().ok().filter(|cpus| (0.01..=65536.0).contains(cpus));
    cpus.map(|cpus| (cpus * 1000.0).round() as u32).ok_or_else(|| "is not a number from 0.01 to 65536".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1024_and_processors_may_be_parts() {
        assert_eq!(
            (memory("512M"), memory("4g"), memory("1.5 GiB")),
            (Ok(512 << 20), Ok(4 << 30), Ok(3 << 29))
        );
        assert_eq!((millicpus("2"), millicpus("0.5")), (Ok(2000), Ok(500)));
        for wrong in ["", "0", "4096", "-1G", "much", "99999999999G"] {
            assert!(memory(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "0", "-1", "0.001", "1e9", "NaN", "all"] {
            assert!(millicpus(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_have_units_or_are_seconds() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1h 30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        for wrong in ["", "0", "0s", "-1", "5 apples", "99999999999999999999"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
