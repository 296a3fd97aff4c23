// A flag, which is a category, with a rule that requires an order.
// must say: a category is a name, not a quantity
#include "ctprof/metric.hpp"

namespace sdk = ctprof::sdk;

#ifdef CONTROL
using TakenBy = sdk::ModeBool;
#else
using TakenBy = sdk::RangeI32;
#endif

inline constexpr sdk::Metric<sdk::Flag, TakenBy> kPinned{
    {.name = "example_pinned", .description = "Whether it must not migrate."}};
