// Declares every metric of the vocabulary for the layout of the file, and offers none.
//
// A file has all keys of the reference regardless of the plugins that took part in the capture, and
// a file without a registry of its own has typed columns. Both need all definitions. Therefore the
// core always loads this plugin, and never lists it.

#include "ctprof/plugin.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace {

namespace sdk = ctprof::sdk;
namespace vocabulary = ctprof::vocabulary;

// Top-level keys that are null when no source fills them.
constexpr std::array<const char*, 5> kObjects{"probe_summary", "parse_summary", "taskstats_summary",
                                              "host", "sched_ext"};

}  // namespace

CTPROF_EXPORT constexpr ctprof_plugin ctprof_plugin = {
    .abi = CTPROF_ABI,
    .size = sizeof(ctprof_plugin),
    .name = "file-layout",
    .version = "1",
    .description = "The keys that every file has.",
    .flags = CTPROF_PLUGIN_LAYOUT,
    .reserved = 0,
    .sources = {},
    .metrics = sdk::array_of(vocabulary::kAllMetrics),
    .derived = sdk::array_of(vocabulary::kAllDerived),
    .rules = {},
    .objects = sdk::array_of(kObjects)};
