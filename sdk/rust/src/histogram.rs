//! The buckets of histograms; see `ctprof/abi/histogram.h`.

/// The number of buckets.
pub const HISTOGRAM_BUCKETS: usize = 96;

/// Returns the bucket of a value: two for each power of two.
///
/// ```
/// use ctprof_sdk::{histogram_bucket, histogram_smallest, HISTOGRAM_BUCKETS};
/// let mut buckets = [0u64; HISTOGRAM_BUCKETS];
/// buckets[histogram_bucket(1000)] += 1;
/// assert_eq!(histogram_bucket(1000), 19);
/// assert_eq!(histogram_smallest(19), 768);
/// assert_eq!(histogram_bucket(u64::MAX), HISTOGRAM_BUCKETS - 1);
/// ```
pub const fn histogram_bucket(value: u64) -> usize {
    if value < 2 {
        return value as usize;
    }
    let log = 63 - value.leading_zeros() as usize;
    if log > HISTOGRAM_BUCKETS / 2 - 1 {
        return HISTOGRAM_BUCKETS - 1;
    }
    2 * log + (value >> (log - 1) & 1) as usize
}

/// Returns the smallest value of a bucket.
pub const fn histogram_smallest(bucket: usize) -> u64 {
    if bucket < 2 {
        return bucket as u64;
    }
    (2 + (bucket as u64 & 1)) << (bucket / 2 - 1)
}
