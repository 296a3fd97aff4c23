// Two labels with one name.
// must say: the two labels of a metric have different names
#include "ctprof/labels.hpp"

namespace sdk = ctprof::sdk;

#ifdef CONTROL
inline constexpr const char* kLabels = sdk::labels<"device", "direction">;
#else
inline constexpr const char* kLabels = sdk::labels<"device", "device">;
#endif

inline constexpr sdk::Metric<sdk::CountMap, sdk::MapSum> kMoved{
    {.name = "example_moved", .description = "Transfers by device.", .labels = kLabels}};
