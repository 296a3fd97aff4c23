// A count in a column of times: two members of a table were swapped.
// must say: the newtype of this figure differs from that of the metric that it fills
#include "ctprof/plugin.hpp"

namespace sdk = ctprof::sdk;

inline constexpr sdk::Metric<sdk::MonotonicNs, sdk::SumNs> kWaited{
    {.name = "example_waited_ns", .description = "Time spent waiting."}};

struct Waits {
  sdk::ReadingOf<sdk::MonotonicNs> time = ctprof::Gap::Malformed;
  sdk::ReadingOf<sdk::MonotonicCount> count = ctprof::Gap::Malformed;
};

#ifdef CONTROL
using Columns = sdk::Table<sdk::Fill<kWaited, &Waits::time>>;
#else
using Columns = sdk::Table<sdk::Fill<kWaited, &Waits::count>>;
#endif

void put(const sdk::Batch& batch, const Waits& waits) { Columns(batch).put(0, waits); }
