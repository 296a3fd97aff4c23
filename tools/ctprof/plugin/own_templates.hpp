// Kinds of sources whose plugins have templates of their own, in C and C++: entities, recorders and
// output plugins. The other kinds share one template for each language (scaffold.cc).
//
// The build files are those of other plugins. To add a kind, add a line to kOwnTemplates, and its
// name to plugin_options.hpp.

#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "plugin_templates.hpp"
#include "tools/ctprof/plugin/plugin_options.hpp"

namespace ctprof::cli {

// The kind of source that selects an output plugin.
inline constexpr std::string_view kOutputSource = "output";

// Output plugins are installed in this directory of the plugin directory.
inline constexpr std::string_view kOutputSubdirectory = "outputs";

struct OwnTemplates {
  std::string_view name, cc, c, test, readme;
  std::string_view suffix, description, file;  // of its metric
  std::string_view show_options;
};
inline constexpr std::array kOwnTemplates{
    OwnTemplates{.name = "entity",
                 .cc = kEntityCcIn,
                 .c = kEntityCIn,
                 .test = kTestEntityPyIn,
                 .readme = kReadmeMdIn,
                 .suffix = "received_bytes",
                 .description = "Bytes that the network interface received",
                 .file = "/proc/net/dev",
                 .show_options = " --entity @name@_interface"},
    OwnTemplates{.name = "record",
                 .cc = kRecordCIn,
                 .c = kRecordCIn,
                 .test = kTestRecordPyIn,
                 .readme = kReadmeRecordMdIn,
                 .suffix = "fault_stacks",
                 .description = "Stacks of page faults",
                 .file = "perf_event_open(2)",
                 .show_options = ""},
    OwnTemplates{.name = kOutputSource,
                 .cc = kOutputCIn,
                 .c = kOutputCIn,
                 .test = kTestOutputPyIn,
                 .readme = kReadmeOutputMdIn,
                 .suffix = "",
                 .description = "",
                 .file = "",
                 .show_options = ""}};
static_assert(std::ranges::equal(kOwnTemplates, kOwnTemplateSources, {}, &OwnTemplates::name));

// Returns null if the kind has no templates of its own.
constexpr const OwnTemplates* find_own_templates(std::string_view source) {
  const auto found = std::ranges::find(kOwnTemplates, source, &OwnTemplates::name);
  return found == kOwnTemplates.end() ? nullptr : &*found;
}

}  // namespace ctprof::cli
