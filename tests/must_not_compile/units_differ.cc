// Bytes with a rule for nanoseconds.
// must say: newtype and rule are about different units
#include "ctprof/metric.hpp"

namespace sdk = ctprof::sdk;

#ifdef CONTROL
using TakenBy = sdk::SumBytes;
#else
using TakenBy = sdk::SumNs;
#endif

inline constexpr sdk::Metric<sdk::Bytes, TakenBy> kSent{
    {.name = "example_sent_bytes", .description = "Bytes sent."}};
