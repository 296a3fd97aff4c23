// A counter that the kernel no longer updates, with a rule for active counters.
// must say: a dead counter never changes
#include "ctprof/metric.hpp"

namespace sdk = ctprof::sdk;

#ifdef CONTROL
using TakenBy = sdk::Dead;
#else
using TakenBy = sdk::SumCount;
#endif

inline constexpr sdk::Metric<sdk::DeadCounter, TakenBy> kIdle{
    {.name = "example_nr_idle", .description = "Wakeups onto an idle CPU."}};
