//! Metrics as text: OpenMetrics, written by `prometheus-client`, and from that the older format of Prometheus.

use crate::metrics::families::{Family, FamilyKind, Sample, Value, families};
use crate::metrics::{NodeMetrics, Unit};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit as WrittenUnit};
use std::collections::HashSet;
use std::fmt;

/// The format of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextFormat {
    OpenMetrics,
    /// The original format of Prometheus: text, version 0.0.4.
    Plain,
}

impl TextFormat {
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Plain => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// The metrics of a node.
pub(super) fn write(metrics: &NodeMetrics, format: TextFormat) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Families(families(metrics))));
    let mut written = String::new();
    // Writing text to memory cannot fail.
    let _written = text::encode(&mut written, &registry);
    match format {
        TextFormat::OpenMetrics => written,
        TextFormat::Plain => plain(&written),
    }
}

#[derive(Debug)]
struct Families(Vec<Family>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for family in self.0.iter().filter(|family| !family.samples.is_empty()) {
            let kind = match family.kind {
                FamilyKind::Counter => MetricType::Counter,
                FamilyKind::Gauge => MetricType::Gauge,
                FamilyKind::Histogram => MetricType::Histogram,
            };
            let unit = match family.unit {
                Unit::None => None,
                Unit::Seconds => Some(WrittenUnit::Seconds),
                Unit::Bytes => Some(WrittenUnit::Bytes),
            };
            let mut encoder = encoder.encode_descriptor(&family.name, &family.help, unit.as_ref(), kind)?;
            for Sample { labels, value } in &family.samples {
                let labels: Vec<_> =
                    labels.iter().map(|(name, value)| (name.clone(), escaped(value))).collect();
                write_value(encoder.encode_family(&labels)?, family.kind, value)?;
            }
        }
        Ok(())
    }
}

fn write_value(mut encoder: MetricEncoder<'_>, kind: FamilyKind, value: &Value) -> fmt::Result {
    let counts = kind == FamilyKind::Counter;
    match value {
        Value::Count(count) if counts => ConstCounter::new(*count).encode(encoder),
        Value::Count(count) => ConstGauge::new(*count).encode(encoder),
        Value::Signed(count) => ConstGauge::new(*count).encode(encoder),
        Value::Real(value) if counts => ConstCounter::new(*value).encode(encoder),
        Value::Real(value) => ConstGauge::new(*value).encode(encoder),
        Value::Histogram { sum, count, buckets } => {
            encoder.encode_histogram::<[(&str, &str); 0]>(*sum, *count, buckets, None)
        }
    }
}

/// The value of a label, escaped for quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

/// OpenMetrics in the older format, in which the name of a counter has its `_total` everywhere.
fn plain(text: &str) -> String {
    let counter = |line: &str| line.strip_prefix("# TYPE ")?.strip_suffix(" counter").map(str::to_owned);
    let counters: HashSet<String> = text.lines().filter_map(counter).collect();
    let mut plain = String::with_capacity(text.len());
    for line in text.lines().filter(|line| !line.starts_with("# UNIT ") && *line != "# EOF") {
        let described = ["# HELP ", "# TYPE "].into_iter().find_map(|start| {
            let (name, rest) = line.strip_prefix(start)?.split_once(' ')?;
            counters.contains(name).then(|| format!("{start}{name}_total {rest}"))
        });
        plain.push_str(described.as_deref().unwrap_or(line));
        plain.push('\n');
    }
    plain
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::metrics::{OwnMetric, OwnValue};

    #[test]
    fn labels_of_the_program_cannot_end_their_line() {
        let mut metrics = NodeMetrics::default();
        metrics.own.push(OwnMetric {
            name: "shop_orders".into(),
            help: "Orders.".into(),
            unit: Unit::None,
            labels: vec![("kind".into(), "a\"} 7\nb\\".into())],
            value: OwnValue::Counter(3),
        });
        let text = write(&metrics, TextFormat::OpenMetrics);
        assert!(text.contains("shop_orders_total{node=\"0\",kind=\"a\\\"} 7\\nb\\\\\"} 3\n"), "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
        let plain = write(&metrics, TextFormat::Plain);
        assert!(plain.contains("# TYPE shop_orders_total counter\n"), "{plain}");
        assert!(!plain.contains("EOF"), "{plain}");
    }
}
