//! How a runtime is set up, from the environment.

use crate::fabric::choice::FabricChoice;
use crate::transport::seal::protection::Protection;
use crate::worker::config::Config;
use std::num::NonZeroUsize;
use std::time::Duration;

impl Config {
    /// This configuration, overridden by the environment.
    ///
    /// # Errors
    /// The text names the variable, its value, and what it should be.
    pub(crate) fn overridden_by(mut self, variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let number = |name: &str| -> Result<Option<usize>, String> {
            let Some(text) = variable(name) else { return Ok(None) };
            match text.trim().parse::<NonZeroUsize>() {
                Ok(number) => Ok(Some(number.get())),
                Err(_) => Err(format!("{name}={text:?} is not a whole number above zero")),
            }
        };
        self.threads = number("GOSSAMER_THREADS")?.or(self.threads);
        self.stack = number("GOSSAMER_STACK_KIB")?.map_or(self.stack, |kib| kib.saturating_mul(1024));
        self.backlog = number("GOSSAMER_BACKLOG")?.unwrap_or(self.backlog);
        self.blocking_threads = number("GOSSAMER_BLOCKING_THREADS")?.or(self.blocking_threads);
        let time = |name: &str| -> Result<Option<u64>, String> {
            let Some(text) = variable(name) else { return Ok(None) };
            let number = text.trim().parse().map_err(|_| format!("{name}={text:?} is not a whole number"));
            number.map(Some)
        };
        self.blocked = time("GOSSAMER_BLOCKED_MILLISECONDS")?.map_or(self.blocked, Duration::from_millis);
        self.stalled = time("GOSSAMER_STALL_SECONDS")?.map_or(self.stalled, Duration::from_secs);
        let switch = |name: &str| match variable(name).as_deref().map(str::trim) {
            None => Ok(None),
            Some("0") => Ok(Some(false)),
            Some("1") => Ok(Some(true)),
            Some(text) => Err(format!("{name}={text:?} is neither 0 nor 1")),
        };
        self.pin = switch("GOSSAMER_PIN")?.or(self.pin);
        self.fabric = FabricChoice::find(&variable)?.unwrap_or(self.fabric);
        if let Some(text) = variable("GOSSAMER_PROTECTION") {
            self.protection = text.parse().map_err(|why| format!("GOSSAMER_PROTECTION={why}"))?;
        }
        if let Some(text) = variable("GOSSAMER_METRICS").filter(|text| !text.is_empty()) {
            let address = text.trim().parse().map_err(|()| {
                format!("GOSSAMER_METRICS={text:?} is not an address:port, such as 127.0.0.1:9400, nor a port, nor unix:/folder")
            });
            self.metrics = Some(address?);
        }
        if let Some(file) = variable("GOSSAMER_TRACE").filter(|file| !file.is_empty()) {
            self.trace = Some(file.into());
        }
        if let Some(every) = number("GOSSAMER_TRACE_EVERY")? {
            self.trace_every = u32::try_from(every).unwrap_or(u32::MAX);
        }
        self.validate()?;
        Ok(self)
    }

    fn validate(&self) -> Result<(), String> {
        const LARGEST_STACK: usize = 1 << 30;
        const MOST_WORKERS: usize = 4096;
        match self.threads {
            Some(threads) if threads == 0 || threads > MOST_WORKERS => {
                Err(format!("{threads} threads: a runtime has 1 to {MOST_WORKERS} workers"))
            }
            _ if self.stack > LARGEST_STACK => {
                Err(format!("{} bytes of stack: a fiber has at most {LARGEST_STACK}", self.stack))
            }
            _ if self.fabric == FabricChoice::Verbs && self.protection != Protection::Checked => {
                Err(format!(
                    "RDMA (GOSSAMER_FABRIC=verbs) cannot be {} (GOSSAMER_PROTECTION): its devices write past all that seals; leave the \
                 choice to GOSSAMER_FABRIC=auto, which takes TCP between machines then",
                    self.protection
                ))
            }
            _ if !self.trace_every.is_power_of_two() || self.trace_every > 1 << 16 => Err(format!(
                "a trace with one of {} batches (GOSSAMER_TRACE_EVERY): it has to be a power of two up to 65536",
                self.trace_every
            )),
            _ if self.backlog == 0 => {
                Err("a backlog of 0 requests: threads that are not workers could never send one".to_owned())
            }
            _ if self.blocking_threads == Some(0) => {
                Err("0 threads for blocking work: it would wait for ever".to_owned())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &'static str) -> Result<Config, String> {
        Config::default().threads(3).overridden_by(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn the_environment_overrides_the_program() {
        let threads = |config: Result<Config, String>| config.map(|config| config.worker_count(8));
        assert_eq!(threads(with("GOSSAMER_THREADS", "5")), Ok(5));
        assert_eq!(threads(with("UNRELATED", "5")), Ok(3));
    }

    #[test]
    fn what_is_sealed_does_not_go_by_rdma() {
        let sealed = |fabric: FabricChoice| {
            let config = Config::default().fabric(fabric).protection(Protection::Authenticated);
            config.overridden_by(|_| None).map(drop)
        };
        let error = sealed(FabricChoice::Verbs).unwrap_err();
        assert!(error.contains("GOSSAMER_FABRIC=verbs") && error.contains("authenticated"), "{error}");
        assert_eq!((sealed(FabricChoice::Auto), sealed(FabricChoice::Tcp)), (Ok(()), Ok(())));
    }

    #[test]
    fn a_bad_variable_is_named_with_its_value() {
        for (name, value) in [
            ("GOSSAMER_THREADS", "0"),
            ("GOSSAMER_THREADS", "many"),
            ("GOSSAMER_THREADS", "99999"),
            ("GOSSAMER_STACK_KIB", "-1"),
            ("GOSSAMER_BLOCKING_THREADS", "0"),
            ("GOSSAMER_BACKLOG", "0"),
            ("GOSSAMER_PIN", "yes"),
            ("GOSSAMER_STALL_SECONDS", "soon"),
            ("GOSSAMER_BLOCKED_MILLISECONDS", "-1"),
            ("GOSSAMER_FABRIC", "rdma"),
            ("GOSSAMER_SHARE_MEMORY", "2"),
            ("GOSSAMER_PROTECTION", "secret"),
            ("GOSSAMER_METRICS", "localhost:9400"),
            ("GOSSAMER_TRACE_EVERY", "48"),
            ("GOSSAMER_TRACE_EVERY", "131072"),
        ] {
            let error = with(name, value).err().unwrap_or_default();
            assert!(error.contains(value.trim_start_matches('-')), "{name}: {error:?}");
        }
    }
}
