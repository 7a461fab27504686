//! [`TraceContext`]: the place of a span in its trace, as W3C Trace Context writes it.

use std::fmt;

/// Characters of a `tracestate` that are kept: as many as the recommendation asks for.
pub(super) const MOST_STATE: usize = 512;

/// The place of a span in its trace: what W3C Trace Context calls `traceparent` and `tracestate`.
///
/// It may also come from elsewhere, for example from the headers of an HTTP request.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TraceContext {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    flags: u8,
    state: String,
}

impl TraceContext {
    /// A context of these ids; `None` if one of them is all zeros, which stands for no trace or no span.
    ///
    /// ```
    /// use gossamer::spans::TraceContext;
    /// assert!(TraceContext::new([1; 16], [2; 8], 1).is_some());
    /// assert!(TraceContext::new([0; 16], [2; 8], 1).is_none());
    /// ```
    pub fn new(trace_id: [u8; 16], span_id: [u8; 8], flags: u8) -> Option<Self> {
        let is_valid = trace_id != [0; 16] && span_id != [0; 8];
        is_valid.then_some(Self { trace_id, span_id, flags, state: String::new() })
    }

    /// The context that a `traceparent` names; `None` if it is not well formed. In a later version of the format, only
    /// the fields of this one are read, as the recommendation asks for.
    ///
    /// ```
    /// use gossamer::spans::TraceContext;
    /// let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    /// assert_eq!(TraceContext::parse(header).unwrap().flags(), 1);
    /// assert_eq!(TraceContext::parse("00-0-0-0"), None);
    /// ```
    pub fn parse(traceparent: &str) -> Option<Self> {
        let mut fields = traceparent.split('-');
        let [version] = bytes(fields.next()?)?;
        let context =
            Self::new(bytes(fields.next()?)?, bytes(fields.next()?)?, bytes::<1>(fields.next()?)?[0])?;
        let is_over = fields.next().is_none();
        (version != 0xff && (is_over || version > 0)).then_some(context)
    }

    /// The same with a `tracestate`. If it has more than 512 characters, its last entries are left out, as the
    /// recommendation asks for; if it is not printable ASCII, all of it is left out.
    ///
    /// ```
    /// use gossamer::spans::TraceContext;
    /// let context = TraceContext::new([1; 16], [2; 8], 1).unwrap().with_state("vendor=value");
    /// assert_eq!(context.state(), "vendor=value");
    /// ```
    #[must_use]
    pub fn with_state(mut self, tracestate: &str) -> Self {
        let mut state = if is_state(tracestate) { tracestate } else { "" };
        while state.len() > MOST_STATE {
            state = state.rsplit_once(',').map_or("", |(first, _last)| first);
        }
        state.clone_into(&mut self.state);
        self
    }

    /// The trace.
    ///
    /// ```
    /// use gossamer::spans::TraceContext;
    /// let context = TraceContext::new([1; 16], [2; 8], 1).unwrap();
    /// assert_eq!(context.trace_id(), [1; 16]);
    /// ```
    pub fn trace_id(&self) -> [u8; 16] {
        self.trace_id
    }

    /// The span, which is the parent of those that continue it.
    ///
    /// ```
    /// use gossamer::spans::TraceContext;
    /// let context = TraceContext::new([1; 16], [2; 8], 1).unwrap();
    /// assert_eq!(context.span_id(), [2; 8]);
    /// ```
    pub fn span_id(&self) -> [u8; 8] {
        self.span_id
    }

    /// The flags of the trace; the lowest bit says that it is sampled.
    ///
    /// ```
    /// use gossamer::spans::TraceContext;
    /// let context = TraceContext::new([1; 16], [2; 8], 1).unwrap();
    /// assert_eq!(context.flags() & 1, 1);
    /// ```
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// The `tracestate`, empty if there is none.
    ///
    /// ```
    /// use gossamer::spans::TraceContext;
    /// let context = TraceContext::new([1; 16], [2; 8], 1).unwrap();
    /// assert_eq!(context.state(), "");
    /// ```
    pub fn state(&self) -> &str {
        &self.state
    }

    /// The `traceparent`, as for an HTTP header: 55 characters.
    ///
    /// ```
    /// use gossamer::spans::TraceContext;
    /// let context = TraceContext::new([1; 16], [2; 8], 1).unwrap();
    /// let traceparent = "00-01010101010101010101010101010101-0202020202020202-01";
    /// assert_eq!(context.traceparent(), traceparent);
    /// ```
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-{:02x}", Hex(&self.trace_id), Hex(&self.span_id), self.flags)
    }
}

impl fmt::Debug for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceContext({}, {:?})", self.traceparent(), self.state)
    }
}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

fn is_state(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'))
}

/// This many bytes, each written as two lower-case hexadecimal digits.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn what_is_no_traceparent_is_refused() {
        assert_eq!(TraceContext::parse(HEADER).unwrap().traceparent(), HEADER);
        let later = HEADER.replacen("00", "cc", 1) + "-what-comes-later";
        assert_eq!(TraceContext::parse(&later).unwrap().traceparent(), HEADER);
        let wrong = [
            HEADER.to_uppercase(),
            HEADER.replacen("00", "ff", 1),
            HEADER.replacen("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32), 1),
            HEADER.replacen("b7ad6b7169203331", &"0".repeat(16), 1),
            format!("{HEADER}-more"),
            format!("{HEADER}0"),
            HEADER[..54].to_owned(),
            String::new(),
            "00-ä".to_owned(),
        ];
        for header in wrong {
            assert_eq!(TraceContext::parse(&header), None, "{header}");
        }
    }

    #[test]
    fn a_tracestate_is_bounded_by_whole_entries() {
        let context = TraceContext::parse(HEADER).unwrap();
        let entries: Vec<String> = (0..60).map(|number| format!("vendor{number}=value")).collect();
        let kept = context.clone().with_state(&entries.join(","));
        assert!(kept.state().len() <= MOST_STATE && kept.state().len() > MOST_STATE - 20, "{kept:?}");
        assert!(entries.join(",").starts_with(kept.state()) && kept.state().ends_with("=value"), "{kept:?}");
        assert_eq!(context.clone().with_state(&"x".repeat(MOST_STATE + 1)).state(), "");
        assert_eq!(context.with_state("vendor=\n").state(), "");
    }
}
