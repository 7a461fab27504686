//! What the environment says about RDMA.

/// Bytes from which pinning the memory of a value is less work than copying it (`docs/benchmarks-verbs.md`).
pub(crate) const RENDEZVOUS: usize = 256 * 1024;

/// What the user asks for; the rest is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VerbsSettings {
    /// `GOSSAMER_VERBS`: these ports. If empty, all.
    pub(crate) ports: Vec<PortSelector>,
    /// `GOSSAMER_VERBS_GID`: the index of the GID, of ports of RoCE.
    pub(crate) gid: Option<u8>,
    /// `GOSSAMER_VERBS_SL`: the service level.
    pub(crate) service_level: u8,
    /// `GOSSAMER_VERBS_TC`: the traffic class, of RoCE.
    pub(crate) traffic_class: u8,
    /// `GOSSAMER_VERBS_TIMEOUT`: how long to wait for an answer, 4.096 µs doubled this many times.
    pub(crate) timeout: u8,
    /// `GOSSAMER_VERBS_RETRY`: how often to retry.
    pub(crate) retries: u8,
    /// `GOSSAMER_VERBS_RENDEZVOUS`: bytes from which a value is read directly from its place. `usize::MAX`: none is.
    pub(crate) rendezvous: usize,
}

impl Default for VerbsSettings {
    fn default() -> Self {
        // 67 ms, and devices may take four times that: a cut link is noticed within 2 s. Some devices take 7 retries
        // for unlimited.
        Self {
            ports: Vec::new(),
            gid: None,
            service_level: 0,
            traffic_class: 0,
            timeout: 14,
            retries: 6,
            rendezvous: RENDEZVOUS,
        }
    }
}

/// A port that the user asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortSelector {
    pub(crate) device: String,
    /// `None` means all ports of the device.
    pub(crate) port: Option<u8>,
}

impl PortSelector {
    pub(crate) fn selects(&self, device: &str, port: u8) -> bool {
        self.device == device && self.port.is_none_or(|asked| asked == port)
    }
}

impl VerbsSettings {
    /// Whether a port may be used.
    pub(crate) fn selects(&self, device: &str, port: u8) -> bool {
        self.ports.is_empty() || self.ports.iter().any(|asked| asked.selects(device, port))
    }

    /// What the environment says.
    ///
    /// # Errors
    /// The text names the variable, its value, and what it should be.
    pub(crate) fn find(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let number = |name: &str, least: u8, most: u8, otherwise: u8| match variable(name) {
            Some(text) => number(name, &text, least, most),
            None => Ok(otherwise),
        };
        let default = Self::default();
        Ok(Self {
            ports: variable(PORTS).map_or(Ok(Vec::new()), |list| selectors(&list))?,
            gid: variable(GID).map(|text| self::number(GID, &text, 0, u8::MAX)).transpose()?,
            service_level: number("GOSSAMER_VERBS_SL", 0, 15, default.service_level)?,
            traffic_class: number("GOSSAMER_VERBS_TC", 0, u8::MAX, default.traffic_class)?,
            // 0 would mean to wait for ever.
            timeout: number("GOSSAMER_VERBS_TIMEOUT", 1, 31, default.timeout)?,
            retries: number("GOSSAMER_VERBS_RETRY", 0, 7, default.retries)?,
            rendezvous: variable(RENDEZVOUS_FROM).map_or(Ok(default.rendezvous), |text| rendezvous(&text))?,
        })
    }
}

pub(crate) const PORTS: &str = "GOSSAMER_VERBS";
pub(crate) const GID: &str = "GOSSAMER_VERBS_GID";
const RENDEZVOUS_FROM: &str = "GOSSAMER_VERBS_RENDEZVOUS";

fn number(name: &str, text: &str, least: u8, most: u8) -> Result<u8, String> {
    let number = text.trim().parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("{name}={text:?} is not a whole number from {least} to {most}"))
}

fn rendezvous(text: &str) -> Result<usize, String> {
    let bytes = text.trim().parse().ok().filter(|bytes| *bytes > 0);
    let bytes = bytes.or_else(|| (text.trim() == "never").then_some(usize::MAX));
    bytes.ok_or_else(|| format!("{RENDEZVOUS_FROM}={text:?} is not a number of bytes from 1 on, nor `never`"))
}

/// `device:port`, or `device` for all of its ports; several with commas between them.
fn selectors(list: &str) -> Result<Vec<PortSelector>, String> {
    let wrong = || {
        format!(
            "{PORTS}={list:?} is not `device:port`, as `mlx5_0:1`, nor `device`, nor several of them with commas between them; \
             the first port is 1"
        )
    };
    let selectors = list.split(',').map(str::trim).map(|text| match text.split_once(':') {
        Some((device, port)) => Some((device, Some(port.parse::<u8>().ok().filter(|port| *port > 0)?))),
        None => Some((text, None)),
    });
    let selectors = selectors.map(|selector| {
        let (device, port) = selector.filter(|(device, _)| !device.is_empty()).ok_or_else(wrong)?;
        Ok(PortSelector { device: device.to_owned(), port })
    });
    selectors.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Result<VerbsSettings, String> {
        VerbsSettings::find(&|asked: &str| {
            variables.iter().find(|(name, _)| *name == asked).map(|(_, value)| (*value).to_owned())
        })
    }

    fn selector(device: &str, port: Option<u8>) -> PortSelector {
        PortSelector { device: device.into(), port }
    }

    #[test]
    fn without_variables_all_is_found_by_itself() {
        assert_eq!(found(&[]), Ok(VerbsSettings::default()));
    }

    #[test]
    fn ports_are_asked_for_by_device_and_number() {
        let ports = |list| found(&[("GOSSAMER_VERBS", list)]).map(|settings| settings.ports);
        assert_eq!(ports("mlx5_0:2"), Ok(vec![selector("mlx5_0", Some(2))]));
        assert_eq!(ports("rxe0"), Ok(vec![selector("rxe0", None)]));
        assert_eq!(ports(" a:1 , b "), Ok(vec![selector("a", Some(1)), selector("b", None)]));
        assert!(selector("a", None).selects("a", 2) && !selector("a", Some(1)).selects("a", 2));
        assert!(!selector("a", None).selects("b", 1));
    }

    #[test]
    fn each_number_is_taken() {
        let settings = found(&[
            ("GOSSAMER_VERBS_GID", "3"),
            ("GOSSAMER_VERBS_SL", "5"),
            ("GOSSAMER_VERBS_TC", "106"),
            ("GOSSAMER_VERBS_TIMEOUT", " 18 "),
            ("GOSSAMER_VERBS_RETRY", "0"),
            ("GOSSAMER_VERBS_RENDEZVOUS", "4096"),
        ]);
        let expected = VerbsSettings {
            ports: Vec::new(),
            gid: Some(3),
            service_level: 5,
            traffic_class: 106,
            timeout: 18,
            retries: 0,
            rendezvous: 4096,
        };
        assert_eq!(settings, Ok(expected));
    }

    #[test]
    fn no_value_is_read_from_where_it_lies_if_that_is_said() {
        let settings = found(&[("GOSSAMER_VERBS_RENDEZVOUS", "never")]);
        assert_eq!(settings.map(|settings| settings.rendezvous), Ok(usize::MAX));
    }

    #[test]
    fn a_bad_setting_is_told_with_its_name_its_value_and_what_may_be_written() {
        for (name, value, allowed) in [
            ("GOSSAMER_VERBS", "", "`device:port`"),
            ("GOSSAMER_VERBS", "mlx5_0:0", "the first port is 1"),
            ("GOSSAMER_VERBS", "mlx5_0:one", "`device:port`"),
            ("GOSSAMER_VERBS", "mlx5_0:256", "`device:port`"),
            ("GOSSAMER_VERBS", "a:1,", "`device:port`"),
            ("GOSSAMER_VERBS", ":1", "`device:port`"),
            ("GOSSAMER_VERBS_GID", "-1", "from 0 to 255"),
            ("GOSSAMER_VERBS_SL", "16", "from 0 to 15"),
            ("GOSSAMER_VERBS_TC", "256", "from 0 to 255"),
            ("GOSSAMER_VERBS_TIMEOUT", "0", "from 1 to 31"),
            ("GOSSAMER_VERBS_TIMEOUT", "32", "from 1 to 31"),
            ("GOSSAMER_VERBS_RETRY", "8", "from 0 to 7"),
            ("GOSSAMER_VERBS_RETRY", "often", "from 0 to 7"),
            ("GOSSAMER_VERBS_RENDEZVOUS", "0", "nor `never`"),
            ("GOSSAMER_VERBS_RENDEZVOUS", "64k", "nor `never`"),
        ] {
            let error = found(&[(name, value)]).err().unwrap_or_default();
            assert!(error.starts_with(&format!("{name}={value:?} is not ")), "{error}");
            assert!(error.contains(allowed), "{error}");
        }
    }
}
