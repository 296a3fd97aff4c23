// A label with an invalid name.
// must say: the name of a label is at most 32 lower case letters
#include "ctprof/labels.hpp"

namespace sdk = ctprof::sdk;

#ifdef CONTROL
inline constexpr const char* kLabels = sdk::labels<"device", "direction">;
#else
inline constexpr const char* kLabels = sdk::labels<"Device">;
#endif

inline constexpr sdk::Metric<sdk::CountMap, sdk::MapSum> kMoved{
    {.name = "example_moved", .description = "Transfers by device.", .labels = kLabels}};
