// A peak with a sum.
// must say: a peak does not add up
#include "ctprof/metric.hpp"

namespace sdk = ctprof::sdk;

#ifdef CONTROL
using TakenBy = sdk::MaxPeak;
#else
using TakenBy = sdk::SumNs;
#endif

inline constexpr sdk::Metric<sdk::PeakNs, TakenBy> kWaitMax{
    {.name = "example_wait_max", .description = "Longest single wait for a CPU."}};
