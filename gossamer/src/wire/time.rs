//! [`NoRef`] for times.
#![expect(unsafe_code, reason = "`NoRef` is an unsafe trait; no memory is touched here")]

use crate::wire::NoRef;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::owned::as_another;
use crate::wire::refusal::Malformed;
use crate::wire::shape::Shape;
use core::time::Duration;
use std::time::{SystemTime, SystemTimeError, UNIX_EPOCH};

/// Since the epoch, or else before it.
type Since = Result<Duration, Duration>;

const NANOSECONDS: u32 = 1_000_000_000;

as_another! {
    Duration, (u64, u32), [] @ Shape::Bounded(12), |duration| (duration.as_secs(), duration.subsec_nanos()),
        |(seconds, nanos)| (nanos < NANOSECONDS).then(|| Self::new(seconds, nanos));
    SystemTime, Since, [] @ Since::SHAPE,
        |time| time.duration_since(UNIX_EPOCH).map_err(|before| before.duration()),
        |since| match since {
            Ok(after) => UNIX_EPOCH.checked_add(after),
            Err(before) => UNIX_EPOCH.checked_sub(before),
        };
    SystemTimeError, Duration, [] @ Duration::SHAPE, |error| error.duration(),
        |duration| UNIX_EPOCH.duration_since(UNIX_EPOCH.checked_add(duration)?).err();
}
