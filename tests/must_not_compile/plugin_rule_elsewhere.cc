// A rule of a plugin with a newtype that it does not list.
// must say: this newtype has no meaning under this rule
#include "ctprof/metric.hpp"

namespace sdk = ctprof::sdk;

#ifdef CONTROL
using Listed = sdk::PluginRule<"example_mean", "GaugeCount,GaugeNs">;
#else
using Listed = sdk::PluginRule<"example_mean", "GaugeNs">;
#endif

inline constexpr sdk::Metric<sdk::GaugeCount, Listed> kLoad{
    {.name = "example_load", .description = "Load of the thread."}};
