// The options of `ctprof plugin`.

#pragma once

#include <array>
#include <span>
#include <string_view>

#include "tools/ctprof/options/capture_options.hpp"
#include "tools/ctprof/options/common_options.hpp"

namespace ctprof::cli {

// The values of --lang and --source; scaffold.cc has a template for each.
inline constexpr std::array<std::string_view, 3> kPluginLanguages{"c++", "c", "rust"};
inline constexpr std::array<std::string_view, 7> kPluginSources{
    "thread", "process", "cgroup", "host", "entity", "record", "output"};
// The kinds of sources that have one template for each language, and those that have templates of
// their own, which are written in C or C++ (own_templates.hpp).
inline constexpr auto kMetricSources = std::span(kPluginSources).first<4>();
inline constexpr auto kOwnTemplateSources = std::span(kPluginSources).last<3>();

struct PluginCommandOptions : CommonOptions, RootfsOption {
  std::string_view language = "c++";   // of `new`: one of kPluginLanguages
  std::string_view source = "thread";  // of `new`: one of kPluginSources
  bool as_root = false;                // of `check`: do not become nobody
};

}  // namespace ctprof::cli
