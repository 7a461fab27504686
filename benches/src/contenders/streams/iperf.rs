//! `iperf3`: what a TCP connection carries if nobody looks at the bytes.

use super::BLOCK;
use super::apart::SLOWLY;
use super::gigabit::Gigabit;
use crate::measure::{Sample, Setting, Way};
use crate::partner::Partner;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The congestion control of all that is compared.
pub(super) const CONGESTION: &str = "cubic";
/// Tries to reach the server before it is given up.
const TRIES: usize = 40;

/// It writes the same buffer again and again.
pub fn iperf(setting: &Setting) -> Sample {
    measure(setting, &[])
}

/// By sendfile: no copy at the sender.
pub fn iperf_zero_copy(setting: &Setting) -> Sample {
    measure(setting, &["-Z"])
}

fn measure(setting: &Setting, more: &[&str]) -> Sample {
    let gigabit = (setting.way == Way::Gigabit).then(Gigabit::new);
    let port = match gigabit {
        Some(_) => "5201".to_owned(),
        None => {
            let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
            port.unwrap_or_else(|error| panic!("no port: {error}")).port().to_string()
        }
    };
    let mut server = Command::new("iperf3");
    server.args(["-s", "-1", "-A", "1", "-p", &port]).stdout(Stdio::null()).stderr(Stdio::null());
    let _server = match &gigabit {
        Some(gigabit) => gigabit.run(&mut server),
        None => Partner::of(&mut server),
    };
    let host = if gigabit.is_some() { "10.78.0.2" } else { "127.0.0.1" };
    let mut client = Command::new("iperf3");
    let seconds = if gigabit.is_some() { SLOWLY.as_secs() } else { 1 }.to_string();
    client.args(["-c", host, "-p", &port, "-t", &seconds, "-A", "0", "-C", CONGESTION, "-J"]).args(more);
    let mut text = String::new();
    for _ in 0..TRIES {
        std::thread::sleep(Duration::from_millis(25));
        let output = client.output().unwrap_or_else(|error| panic!("iperf3: {error}"));
        text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            break;
        }
    }
    let end = text.split("\"sum_received\"").nth(1).unwrap_or_else(|| panic!("iperf3 said {text:?}"));
    let number = |name: &str| -> f64 {
        let rest = end.split(&format!("\"{name}\":")).nth(1).unwrap_or_default();
        let digits = rest.trim_start().split([',', '\n', '}']).next().unwrap_or_default();
        digits.trim().parse().unwrap_or_else(|error| panic!("iperf3's {name}: {error}"))
    };
    let (bytes, seconds) = (number("bytes"), number("seconds"));
    let cpu = (number("host_total") + number("remote_total")) / 100.0 * seconds;
    Sample::new((bytes / BLOCK as f64) as u64, seconds, cpu)
}
