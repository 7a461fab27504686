//! Metrics of the program's own: counters, gauges and histograms.

use crate::NoRef;
use crate::counters::distribution::{BUCKETS, bucket_of};
use crate::metrics::cells::{self, CELLS, Reader};
use crate::metrics::{Distribution, OwnMetric, OwnValue};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The unit of a metric. In Prometheus it is part of the name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, NoRef)]
#[non_exhaustive]
pub enum Unit {
    /// A plain number.
    #[default]
    None,
    /// Time: recorded in nanoseconds, shown in seconds.
    Seconds,
    /// Bytes.
    Bytes,
}

/// A builder for a metric that the program defines. Metrics of one name differ in their labels, and share unit, help
/// and kind.
///
/// A metric belongs to the process: it is made once, usually in a `LazyLock`, and making it again returns the same
/// one. Each thread counts for itself, which costs about a nanosecond and shares no cache line; readers add up the
/// threads. A node reports its workers; the oldest runtime of a process also reports the other threads.
///
/// ```
/// use gossamer::metrics::{Counter, Histogram, Metric, Unit};
/// use std::sync::LazyLock;
/// use std::time::Duration;
///
/// static READS: LazyLock<Counter> =
///     LazyLock::new(|| Metric::new("shop_requests", "Requests of customers.").label("kind", "read").counter());
/// static WAITS: LazyLock<Histogram> =
///     LazyLock::new(|| Metric::new("shop_wait", "How long customers wait.").unit(Unit::Seconds).histogram());
/// READS.add(1); // shop_requests_total{kind="read"}
/// WAITS.record_time(Duration::from_millis(3)); // shop_wait_seconds
/// ```
#[derive(Clone, Debug)]
#[must_use = "`counter`, `gauge` or `histogram` makes it"]
pub struct Metric {
    name: String,
    help: String,
    unit: Unit,
    labels: Vec<(String, String)>,
}

/// A number that only grows. Copies count together.
#[derive(Clone, Copy, Debug)]
pub struct Counter(usize);

/// A number that goes up and down: each thread has a share, and the sum of all is shown. Copies are the same gauge.
#[derive(Clone, Copy, Debug)]
pub struct Gauge(usize);

/// The distribution of values, as a [`Distribution`]. Copies are the same histogram. It takes 2.4 KiB of each thread
/// that uses it.
#[derive(Clone, Copy, Debug)]
pub struct Histogram(usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OwnKind {
    Counter,
    Gauge,
    Histogram,
}

impl OwnKind {
    fn cells(self) -> usize {
        match self {
            Self::Counter | Self::Gauge => 1,
            Self::Histogram => BUCKETS + 1,
        }
    }
}

/// A metric that was made.
struct MadeMetric {
    metric: Metric,
    kind: OwnKind,
    cell: usize,
}

struct OwnRegistry {
    metrics: Vec<MadeMetric>,
    cells: usize,
}

static REGISTRY: Mutex<OwnRegistry> = Mutex::new(OwnRegistry { metrics: Vec::new(), cells: 0 });

fn registry() -> MutexGuard<'static, OwnRegistry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether Prometheus accepts it as a name.
fn is_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(is_letter) && text.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

impl Metric {
    /// A metric of this name, without the prefix `gossamer_`, which is reserved, and without unit and `_total`, which
    /// are appended. `help` is its meaning, in one line.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// use gossamer::metrics::Metric;
    /// let orders = Metric::new("shop_orders", "Orders that were taken.").counter(); // shop_orders_total
    /// orders.add(1);
    /// assert_eq!(gossamer::metrics().counter("shop_orders"), 1);
    /// # });
    /// ```
    pub fn new(name: &str, help: &str) -> Self {
        Self { name: name.to_owned(), help: help.to_owned(), unit: Unit::None, labels: Vec::new() }
    }

    /// Sets the unit.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// use gossamer::metrics::{Metric, Unit};
    /// let read = Metric::new("shop_read", "What was read.").unit(Unit::Bytes).counter(); // shop_read_bytes_total
    /// read.add(4096);
    /// assert_eq!(gossamer::metrics().own[0].unit, Unit::Bytes);
    /// # });
    /// ```
    pub fn unit(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }

    /// Adds a label, which distinguishes it from others of its name. Each combination of label values is a metric of
    /// its own, so use few.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// use gossamer::metrics::Metric;
    /// let of_kind = |kind| Metric::new("shop_requests", "Requests of customers.").label("kind", kind).counter();
    /// let (reads, writes) = (of_kind("read"), of_kind("write"));
    /// reads.add(3);
    /// writes.add(1);
    /// assert_eq!(gossamer::metrics().own.len(), 2);
    /// assert_eq!(gossamer::metrics().counter("shop_requests"), 4); // of both kinds
    /// # });
    /// ```
    pub fn label(mut self, name: &str, value: &str) -> Self {
        self.labels.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Makes it a counter.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// use gossamer::metrics::{Counter, Metric};
    /// use std::sync::LazyLock;
    /// static ORDERS: LazyLock<Counter> = LazyLock::new(|| Metric::new("shop_orders", "Orders taken.").counter());
    /// ORDERS.add(1);
    /// Metric::new("shop_orders", "Orders taken.").counter().add(1); // the same one
    /// assert_eq!(gossamer::metrics().counter("shop_orders"), 2);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If a name has characters other than ASCII letters, digits and `_`, or is reserved (`gossamer_…`; labels
    /// `node`, `worker`, `le`), or the help has several lines, quotes or backslashes; if a metric of this name has
    /// another kind, unit, help or other labels; and if there are too many: there may be 65,536 counters and gauges,
    /// and a histogram takes the place of 305.
    #[track_caller]
    pub fn counter(self) -> Counter {
        Counter(self.register(OwnKind::Counter))
    }

    /// Makes it a gauge.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::metrics::{Gauge, Metric, OwnValue};
    /// use std::sync::LazyLock;
    /// static CUSTOMERS: LazyLock<Gauge> = LazyLock::new(|| Metric::new("shop_customers", "Who is inside.").gauge());
    /// CUSTOMERS.add(2);
    /// gossamer::spawn(|| CUSTOMERS.add(-1)).join(); // also on another worker
    /// assert_eq!(gossamer::metrics().own[0].value, OwnValue::Gauge(1));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`counter`](Self::counter).
    #[track_caller]
    pub fn gauge(self) -> Gauge {
        Gauge(self.register(OwnKind::Gauge))
    }

    /// Makes it a histogram.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// use gossamer::metrics::{Histogram, Metric, OwnValue, Unit};
    /// use std::sync::LazyLock;
    /// static REPLIES: LazyLock<Histogram> =
    ///     LazyLock::new(|| Metric::new("shop_replies", "Lengths of replies.").unit(Unit::Bytes).histogram());
    /// REPLIES.record(512);
    /// let OwnValue::Histogram(lengths) = &gossamer::metrics().own[0].value else { panic!("it is a histogram") };
    /// assert_eq!(lengths.mean(), Some(512));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`counter`](Self::counter).
    #[track_caller]
    pub fn histogram(self) -> Histogram {
        Histogram(self.register(OwnKind::Histogram))
    }

    fn check(&self) -> Result<(), String> {
        let is_reserved = |label: &str| ["node", "worker", "le"].contains(&label);
        if !is_name(&self.name) || self.name.starts_with("gossamer") {
            return Err("its name has to be of letters, digits and `_`, and not begin with `gossamer`".into());
        }
        if self.help.contains(['\n', '\r', '\\', '"']) {
            return Err("its help has to be one line, without quotes and backslashes".into());
        }
        match self.labels.iter().find(|(label, _)| !is_name(label) || is_reserved(label)) {
            Some((label, _)) => Err(format!("`{label}` cannot be the name of a label")),
            None => Ok(()),
        }
    }

    /// The first of its cells.
    #[track_caller]
    fn register(mut self, kind: OwnKind) -> usize {
        self.labels.sort();
        match self.check().and_then(|()| self.try_register(kind)) {
            Ok(cell) => cell,
            Err(why) => panic!("the metric `{self}` cannot be made: {why}"),
        }
    }

    fn try_register(&self, kind: OwnKind) -> Result<usize, String> {
        let mut registry = registry();
        let names = |metric: &Self| metric.labels.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        if let Some(other) = registry.metrics.iter().find(|other| other.metric.name == self.name) {
            let is_alike =
                (other.kind, other.metric.unit, &other.metric.help) == (kind, self.unit, &self.help);
            if !is_alike || names(&other.metric) != names(self) {
                return Err(format!("`{}` has another kind, unit or help, or other labels", other.metric));
            }
        }
        let same = |other: &&MadeMetric| other.metric.name == self.name && other.metric.labels == self.labels;
        if let Some(same) = registry.metrics.iter().find(same) {
            return Ok(same.cell);
        }
        let cell = registry.cells;
        if cell + kind.cells() > CELLS {
            return Err("there are too many; values of labels should be few".into());
        }
        registry.cells += kind.cells();
        registry.metrics.push(MadeMetric { metric: self.clone(), kind, cell });
        Ok(cell)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        let labels = self.labels.iter().map(|(name, value)| format!("{name}={value:?}")).collect::<Vec<_>>();
        if labels.is_empty() { Ok(()) } else { write!(f, "{{{}}}", labels.join(",")) }
    }
}

impl Counter {
    /// Adds `more`.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::metrics::{Counter, Metric};
    /// use std::sync::LazyLock;
    /// static WORDS: LazyLock<Counter> = LazyLock::new(|| Metric::new("shop_words", "Words read.").counter());
    /// let count = |line: String| WORDS.add(line.split(' ').count() as u64);
    /// let fibers = ["to be", "or not to be"].map(|line| gossamer::spawn_with(count, line.to_owned()));
    /// fibers.map(|fiber| fiber.join());
    /// assert_eq!(gossamer::metrics().counter("shop_words"), 6); // of all workers
    /// # });
    /// ```
    #[inline]
    pub fn add(&self, more: u64) {
        cells::add(self.0, more);
    }
}

impl Gauge {
    /// Adds `more`, which may be negative.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// use gossamer::metrics::{Metric, OwnValue};
    /// let open = Metric::new("shop_open_orders", "Orders that are not paid.").gauge();
    /// open.add(3);
    /// open.add(-2);
    /// assert_eq!(gossamer::metrics().own[0].value, OwnValue::Gauge(1));
    /// # });
    /// ```
    #[inline]
    pub fn add(&self, more: i64) {
        cells::add(self.0, more.cast_unsigned());
    }

    /// Replaces the share of this thread: on a worker, that of the worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::metrics::{Gauge, Metric, OwnValue};
    /// use std::sync::LazyLock;
    /// static QUEUED: LazyLock<Gauge> = LazyLock::new(|| Metric::new("shop_queued", "Orders in queues.").gauge());
    /// for (worker, length) in gossamer::Trustee::all().iter().zip([3, 4]) {
    ///     gossamer::spawn_on_with(*worker, |length| QUEUED.set(length), length).join(); // each sets its own share
    /// }
    /// assert_eq!(gossamer::metrics().own[0].value, OwnValue::Gauge(7));
    /// # });
    /// ```
    #[inline]
    pub fn set(&self, share: i64) {
        cells::set(self.0, share.cast_unsigned());
    }
}

impl Histogram {
    /// Records a value.
    ///
    /// ```
    /// use gossamer::metrics::{Histogram, Metric};
    /// use std::sync::LazyLock;
    /// static SIZES: LazyLock<Histogram> = LazyLock::new(|| Metric::new("shop_basket", "Things in a basket.").histogram());
    ///
    /// gossamer::run(gossamer::Config::default().threads(1), || {
    ///     [1, 3, 3].into_iter().for_each(|things| SIZES.record(things));
    /// });
    /// ```
    #[inline]
    pub fn record(&self, value: u64) {
        cells::add(self.0 + bucket_of(value), 1);
        cells::add(self.0 + BUCKETS, value);
    }

    /// Records a time, for a histogram in [`Unit::Seconds`].
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// use gossamer::metrics::{Metric, OwnValue, Unit};
    /// use std::time::{Duration, Instant};
    /// let waits = Metric::new("shop_waits", "How long customers wait.").unit(Unit::Seconds).histogram();
    /// let begin = Instant::now();
    /// gossamer::sleep(Duration::from_millis(2));
    /// waits.record_time(begin.elapsed());
    /// let OwnValue::Histogram(times) = &gossamer::metrics().own[0].value else { panic!("it is a histogram") };
    /// assert!(times.quantile_time(0.5) >= Some(Duration::from_millis(2)));
    /// # });
    /// ```
    #[inline]
    pub fn record_time(&self, time: Duration) {
        // It wraps after five centuries.
        self.record(time.as_nanos() as u64);
    }
}

/// All metrics of the program's own, as one node has them.
pub(super) fn read(reader: Reader) -> Vec<OwnMetric> {
    let registry = registry();
    cells::read(reader, |cell| {
        let value = |registered: &MadeMetric| match registered.kind {
            OwnKind::Counter => OwnValue::Counter(cell(registered.cell)),
            OwnKind::Gauge => OwnValue::Gauge(cell(registered.cell).cast_signed()),
            OwnKind::Histogram => {
                let counts: Vec<u64> = (0..BUCKETS).map(|bucket| cell(registered.cell + bucket)).collect();
                OwnValue::Histogram(Distribution::new(&counts, cell(registered.cell + BUCKETS)))
            }
        };
        let metrics = registry.metrics.iter().map(|registered| {
            let Metric { name, help, unit, labels } = registered.metric.clone();
            OwnMetric { name, help, unit, labels, value: value(registered) }
        });
        metrics.collect()
    })
}
