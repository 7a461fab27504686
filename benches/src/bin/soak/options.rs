//! The command line.

use gossamer::NoRef;
use std::time::Duration;

/// What is asked for.
#[derive(NoRef, Clone, Debug)]
pub struct Options {
    pub minutes: u64,
    pub rows: u64,
    pub rate: u64,
    pub nodes: u64,
    pub threads: u64,
    pub fibers: u64,
    pub over: String,
}

impl Options {
    /// # Errors
    /// What is wrong with them.
    pub fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self {
            minutes: 60,
            rows: 20,
            rate: 250,
            nodes: 4,
            threads: 2,
            fibers: 4,
            over: "shm".to_owned(),
        };
        let mut rest = arguments.iter();
        while let Some(name) = rest.next() {
            let value = rest.next().ok_or_else(|| format!("{name} has no value (--help)"))?;
            let number = || {
                let number = value.parse().ok().filter(|number| *number > 0);
                number.ok_or_else(|| format!("{name} {value} is not a number above 0"))
            };
            match name.as_str() {
                "--minutes" => options.minutes = number()?,
                "--rows" => options.rows = number()?,
                "--rate" => options.rate = number()?,
                "--nodes" => options.nodes = number()?,
                "--threads" => options.threads = number()?,
                "--fibers" => options.fibers = number()?,
                "--over" if value == "shm" || value == "tcp" => options.over.clone_from(value),
                "--over" => return Err(format!("--over {value} is neither shm nor tcp")),
                _ => return Err(format!("there is no option {name} (--help)")),
            }
        }
        Ok(options)
    }

    /// How long everything runs.
    pub fn time(&self) -> Duration {
        Duration::from_secs(60 * self.minutes)
    }

    /// How long each fiber waits from one operation to the next.
    pub fn pace(&self) -> Duration {
        let fibers = self.nodes * self.threads * self.fibers;
        Duration::from_secs(fibers) / u32::try_from(self.rate).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_numbers_and_fabrics() {
        let parse =
            |line: &str| Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let options = parse("--minutes 3 --rate 64 --over tcp").unwrap();
        assert_eq!((options.time(), options.over.as_str()), (Duration::from_secs(180), "tcp"));
        assert_eq!(options.pace(), Duration::from_millis(500));
        for wrong in ["--minutes", "--rate 0", "--over air", "--hours 1"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
