// A histogram with the sum of a counter.
// must say: this newtype has no meaning under this rule
#include "ctprof/metric.hpp"

namespace sdk = ctprof::sdk;

#ifdef CONTROL
using TakenBy = sdk::HistogramMerge;
#else
using TakenBy = sdk::SumNs;
#endif

inline constexpr sdk::Metric<sdk::HistogramNs, TakenBy> kWaits{
    {.name = "example_wait_histogram_ns", .description = "Single waits for a lock."}};
