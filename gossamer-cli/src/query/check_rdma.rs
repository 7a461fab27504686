//! `gossamer check-rdma`: whether RDMA can be used on this machine, or the first thing that is wrong.

use crate::exit::{FAILED, Failure};
use crate::query::check_with::{self, Measured};
use crate::query::output::{print, print_json};
use crate::query::rdma;
use crate::rack::rdma::{Variables, own_variables, settings};
use gossamer::rack::rdma::{MachineReport, RdmaSettings};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// How long the devices may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// `gossamer check-rdma`; `with` is the name of another machine, to which a queue pair is tried.
///
/// # Errors
/// RDMA cannot be used (1), a setting or the configuration is wrong (2), or the other machine cannot be reached (3).
pub async fn check(config: &Path, with: Option<&str>, as_json: bool) -> Result<u8, Failure> {
    let variables = own_variables();
    let settings = settings(&variables)?;
    let own = look(settings.clone()).await?;
    match with {
        None => show(&own, &variables, as_json),
        Some(with) => {
            let tried = check_with::check(config, with, &own, &variables, &settings).await;
            show_tried(&own, &variables, with, tried, as_json)
        }
    }
}

/// Looks at the devices of this machine.
async fn look(settings: RdmaSettings) -> Result<MachineReport, Failure> {
    let look = spawn_blocking(move || MachineReport::of_this_machine(&settings));
    match timeout(PATIENCE, look).await {
        Ok(report) => report.map_err(|error| Failure::new(FAILED, error.to_string())),
        Err(_) => Err(Failure::new(
            FAILED,
            format!(
                "the RDMA devices did not answer in {} s; the kernel may say why (dmesg)",
                PATIENCE.as_secs()
            ),
        )),
    }
}

fn show(own: &MachineReport, variables: &Variables, as_json: bool) -> Result<u8, Failure> {
    match as_json {
        true => print_json(&json(own, variables))?,
        false => print(rdma::text(&own.rdma, variables).as_bytes())?,
    }
    if let Some(trouble) = own.rdma.trouble() {
        return Err(Failure::new(FAILED, rdma::trouble_text("on this machine", &trouble)));
    }
    if !as_json {
        print(format!("RDMA can be used, by {}\n", own.rdma.ports().join(" and ")).as_bytes())?;
    }
    Ok(0)
}

fn json(own: &MachineReport, variables: &Variables) -> Value {
    let mut value = rdma::json(&own.rdma);
    let settings: serde_json::Map<String, Value> =
        variables.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    value["settings"] = Value::Object(settings);
    value
}

fn show_tried(
    own: &MachineReport,
    variables: &Variables,
    with: &str,
    tried: Result<Vec<Measured>, Failure>,
    as_json: bool,
) -> Result<u8, Failure> {
    if as_json {
        let mut value = json(own, variables);
        let measured = tried.as_deref().unwrap_or_default();
        value["with"] = json!({
            "machine": with,
            "error": tried.as_ref().err().map(|failure| &failure.message),
            "pairs": measured.iter().map(Measured::json).collect::<Vec<_>>(),
        });
        print_json(&value)?;
    }
    let measured = tried?;
    if !as_json {
        let text: String = measured.iter().map(|measured| measured.text(with)).collect();
        print(text.as_bytes())?;
    }
    Ok(0)
}
