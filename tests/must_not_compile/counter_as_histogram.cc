// A counter with the rule of histograms.
// must say: this newtype has no meaning under this rule
#include "ctprof/metric.hpp"

namespace sdk = ctprof::sdk;

#ifdef CONTROL
using Reading = sdk::HistogramCount;
#else
using Reading = sdk::MonotonicCount;
#endif

inline constexpr sdk::Metric<Reading, sdk::HistogramMerge> kSizes{
    {.name = "example_size_histogram", .description = "Sizes of single requests."}};
