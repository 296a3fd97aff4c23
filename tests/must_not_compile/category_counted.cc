// A category with a numeric rule.
// must say: a category is a name, not a quantity
#include "ctprof/metric.hpp"

namespace sdk = ctprof::sdk;

#ifdef CONTROL
using TakenBy = sdk::Mode;
#else
using TakenBy = sdk::SumCount;
#endif

inline constexpr sdk::Metric<sdk::CategoricalString, TakenBy> kWhere{
    {.name = "example_where", .description = "The function in which it sleeps."}};
