//! UCX's active messages, by the program that measures them: `ucx_perftest`.

use super::output;
use crate::latency::Latency;
use crate::measure::{Sample, Setting, Way};
use crate::partner::Partner;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Tries to reach the server before it is given up.
const TRIES: usize = 40;

/// Messages there and back, one at a time.
pub fn ucx_round_trips(setting: &Setting) -> Sample {
    let result = perftest(setting, "ucp_am_lat", if setting.way == Way::Tcp { 1e5 } else { 3e6 });
    // It counts each way as a message, and takes half of a round trip for the time of one.
    let latency = Latency { p50: result.median * 2e3, p99: f64::NAN };
    Sample { latency: Some(latency), ..Sample::new(result.messages / 2, result.seconds, f64::NAN) }
}

/// Messages one way, nobody answers, as many under way as the setting says.
pub fn ucx_one_way(setting: &Setting) -> Sample {
    let result = perftest(setting, "ucp_am_bw", if setting.way == Way::Tcp { 3e5 } else { 8e6 });
    Sample::new(result.messages, result.seconds, f64::NAN)
}

/// What it found out.
struct Found {
    messages: u64,
    seconds: f64,
    /// Of one way, in microseconds.
    median: f64,
}

/// Panics if it fails.
fn perftest(setting: &Setting, test: &str, expected_rate: f64) -> Found {
    let messages = (setting.budget.as_secs_f64() * expected_rate) as u64;
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    let port = port.unwrap_or_else(|error| panic!("no port: {error}")).port().to_string();
    let command = |processor: &str| {
        let mut command = Command::new("ucx_perftest");
        let transport = if setting.way == Way::Tcp { ["tcp", "lo"] } else { ["posix", "memory"] };
        command.env("UCX_TLS", transport[0]).env("UCX_NET_DEVICES", transport[1]);
        command.args(["-c", processor, "-p", &port, "-t", test, "-s", &setting.bytes.to_string()]);
        command
    };
    let _server = Partner::of(command("1").stdout(Stdio::null()).stderr(Stdio::null()));
    let outstanding = setting.parallel.to_string();
    let mut client = command("0");
    client.args(["127.0.0.1", "-v", "-f", "-n", &messages.to_string(), "-w", &(messages / 4).to_string()]);
    if test == "ucp_am_bw" {
        client.args(["-O", &outstanding]);
    }
    let mut outcome = Err(String::new());
    for _ in 0..TRIES {
        thread::sleep(Duration::from_millis(25));
        outcome = output(&mut client);
        if outcome.is_ok() {
            break;
        }
    }
    let text = outcome.unwrap_or_else(|error| panic!("ucx_perftest: {error}"));
    let last = text.lines().rev().find(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    let fields: Vec<f64> =
        last.unwrap_or("").split(',').filter_map(|field| field.trim().parse().ok()).collect();
    // iterations, a percentile, the average and the overall time of one way; bandwidths; rates
    let [_, median, _, _, _, _, _, rate] = fields[..] else { panic!("ucx_perftest said {text:?}") };
    Found { messages, seconds: messages as f64 / rate, median }
}
