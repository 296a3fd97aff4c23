// The options of `ctprof plugin` alone.

#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "tools/ctprof/options/option_values.hpp"

namespace ctprof::cli {

// The values of --lang and --source; scaffold.cc has a template for each.
inline constexpr std::array<std::string_view, 3> kPluginLanguages{"c++", "c", "rust"};
inline constexpr std::array<std::string_view, 4> kPluginSources{"thread", "process", "cgroup",
                                                                "host"};

struct PluginOptions {
  std::string language = "c++";   // of `new`: one of kPluginLanguages
  std::string source = "thread";  // of `new`: one of kPluginSources
  bool as_root = false;           // of `check`: do not become nobody
};

// The error is one sentence that names the valid choices.
Result<PluginOptions> read_plugin_options(const OptionValues& values);

}  // namespace ctprof::cli
