//! How often may be asked: a bucket of requests for each key, which fills again as time goes by.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What each key has left.
pub(crate) struct Rate {
    /// Requests a minute, and at once after a pause.
    pub per_minute: NonZeroU32,
    buckets: Vec<Mutex<Bucket>>,
}

struct Bucket {
    /// Requests that may come, as of then.
    left: f64,
    then: Instant,
}

impl Rate {
    /// For so many keys, from now on.
    pub fn new(per_minute: NonZeroU32, keys: usize, now: Instant) -> Rate {
        let bucket = |_| Mutex::new(Bucket { left: per_minute.get().into(), then: now });
        Rate { per_minute, buckets: (0..keys).map(bucket).collect() }
    }

    /// Lets a request of a key through, or says how long it has to wait. Requests that are not let through cost nothing.
    pub fn take(&self, key: usize, now: Instant) -> Result<(), Duration> {
        let most = f64::from(self.per_minute.get());
        let a_second = most / 60.0;
        let mut bucket = self.buckets[key].lock().unwrap_or_else(PoisonError::into_inner);
        let since = now.saturating_duration_since(bucket.then);
        bucket.left = (bucket.left + since.as_secs_f64() * a_second).min(most);
        bucket.then = bucket.then.max(now);
        if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - bucket.left) / a_second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_requests_and_gets_more_with_time() {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let rate = Rate::new(NonZeroU32::new(6).unwrap(), 2, start);
        assert!((0..6).all(|_| rate.take(0, at(0)).is_ok()));
        let wait = rate.take(0, at(0)).unwrap_err();
        assert!(wait > Duration::from_millis(9_900) && wait < Duration::from_millis(10_100), "{wait:?}");
        // Another key has its own, and asking in vain costs nothing.
        assert!(rate.take(1, at(0)).is_ok());
        assert!(rate.take(0, at(9_000)).unwrap_err() < Duration::from_millis(1_100));
        assert!(rate.take(0, at(10_001)).is_ok());
        assert!(rate.take(0, at(10_002)).is_err());
        // A pause gives no more than a minute's requests, and a clock that was behind takes none.
        assert!((0..6).all(|_| rate.take(0, at(3_600_000)).is_ok()));
        assert!(rate.take(0, at(3_600_000)).is_err() && rate.take(0, at(0)).is_err());
    }
}
