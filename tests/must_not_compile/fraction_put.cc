// A fraction in an unsigned column.
// must say: this value would lose its sign or its fraction in a cell of this kind
#include "ctprof/plugin.hpp"

namespace sdk = ctprof::sdk;

inline constexpr sdk::Metric<sdk::GaugeCount, sdk::MaxGaugeCount> kDepth{
    {.name = "example_depth", .description = "Depth of the stack."}};

#ifdef CONTROL
using Depth = unsigned;
#else
using Depth = double;
#endif

void put(const sdk::Batch& batch, Depth depth) { batch.column(kDepth).put(0, depth); }
