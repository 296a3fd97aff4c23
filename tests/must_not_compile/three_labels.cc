// A metric with three labels.
// must say: a metric has one or two labels
#include "ctprof/labels.hpp"

namespace sdk = ctprof::sdk;

#ifdef CONTROL
inline constexpr const char* kLabels = sdk::labels<"device", "direction">;

inline constexpr sdk::Metric<sdk::CountMap, sdk::MapSum> kMoved{
    {.name = "example_moved", .description = "Transfers by device.", .labels = kLabels}};
#else
// Its size, because Clang has further messages about the use of a variable that is refused.
inline constexpr auto kSize = sizeof(sdk::labels<"device", "direction", "queue">);
#endif
