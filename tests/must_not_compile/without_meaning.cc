// A gauge with a sum of counters: the units agree, but the pair has no meaning.
// must say: this newtype has no meaning under this rule
#include "ctprof/metric.hpp"

namespace sdk = ctprof::sdk;

#ifdef CONTROL
using TakenBy = sdk::SumGaugeCount;
#else
using TakenBy = sdk::SumCount;
#endif

inline constexpr sdk::Metric<sdk::GaugeCount, TakenBy> kOpen{
    {.name = "example_open_files", .description = "Files open now."}};
