/* ctprof/abi/histogram.h: the buckets of histograms. Part of ctprof/abi.h, which states the
 * compatibility rules; include ctprof/abi.h instead.
 *
 * A histogram counts durations or sizes by bucket. Its cell is an array (CTPROF_ARRAY): element n
 * is the number of values in bucket n, and elements that are left out at the end are zero. The
 * newtype is HistogramNs for values in ns, and HistogramCount for other numbers; the rule is
 * HistogramMerge, which adds bucket by bucket and derives p50, p99, p99.9 and max.
 *
 * There are two buckets for each power of two, so a bucket is at most half as wide as its smallest
 * value. The numbers of the buckets are stored in files and never change:
 *
 *     bucket   0  1  2  3  4     5     6      7       8       9       ...  95
 *     values   0  1  2  3  4, 5  6, 7  8..11  12..15  16..23  24..31       3 * 2^46 and above
 *
 * With values in ns, the last bucket begins at 2.4 days. */
#ifndef CTPROF_ABI_HISTOGRAM_H
#define CTPROF_ABI_HISTOGRAM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define CTPROF_CONSTEXPR constexpr
#else
#define CTPROF_CONSTEXPR
#endif

#define CTPROF_HISTOGRAM_BUCKETS 96u

/* A step of a binary search for the highest bit of `rest`. */
#define CTPROF_LOG_STEP(bits) \
  if (rest >> (bits)) {       \
    log += (bits);            \
    rest >>= (bits);          \
  }

/* Returns the bucket of a value. It contains no call and no loop, so BPF programs can use it. */
CTPROF_CONSTEXPR static inline uint32_t ctprof_histogram_bucket(uint64_t value) {
  uint64_t rest = value;
  uint32_t log = 0; /* rounded down */
  if (value < 2) return (uint32_t)value;
  CTPROF_LOG_STEP(32)
  CTPROF_LOG_STEP(16)
  CTPROF_LOG_STEP(8)
  CTPROF_LOG_STEP(4)
  CTPROF_LOG_STEP(2)
  CTPROF_LOG_STEP(1)
  if (log > CTPROF_HISTOGRAM_BUCKETS / 2 - 1) return CTPROF_HISTOGRAM_BUCKETS - 1;
  return 2 * log + (uint32_t)(value >> (log - 1) & 1);
}

#undef CTPROF_LOG_STEP

/* Returns the smallest value of a bucket. The largest one is the smallest of the next bucket minus
 * 1, except that the last bucket has no limit. REQUIRES: bucket <= CTPROF_HISTOGRAM_BUCKETS. */
CTPROF_CONSTEXPR static inline uint64_t ctprof_histogram_smallest(uint32_t bucket) {
  return bucket < 2 ? bucket : (uint64_t)(2 + (bucket & 1)) << (bucket / 2 - 1);
}

#undef CTPROF_CONSTEXPR

#ifdef __cplusplus
}
#endif

#endif
