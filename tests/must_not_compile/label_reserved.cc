// A label with a name that readers use.
// must say: key, le, quantile, job and instance are not names of labels: readers use them
#include "ctprof/labels.hpp"

namespace sdk = ctprof::sdk;

#ifdef CONTROL
inline constexpr const char* kLabels = sdk::labels<"device", "direction">;
#else
inline constexpr const char* kLabels = sdk::labels<"device", "le">;
#endif

inline constexpr sdk::Metric<sdk::CountMap, sdk::MapSum> kMoved{
    {.name = "example_moved", .description = "Transfers by device.", .labels = kLabels}};
