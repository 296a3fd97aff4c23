// The templates of the files in which a new output plugin differs from other plugins. They are the
// same in C and C++.
//
// The build files are those of other plugins (scaffold.cc).

#pragma once

#include <array>
#include <string_view>

#include "plugin_templates.hpp"

namespace ctprof::cli {

// The kind of source that selects an output plugin.
inline constexpr std::string_view kOutputSource = "output";

// Output plugins are installed in this directory of the plugin directory.
inline constexpr std::string_view kOutputSubdirectory = "outputs";

struct OutputTemplates {
  std::string_view source = kOutputCIn, test = kTestOutputPyIn, readme = kReadmeOutputMdIn;
};

}  // namespace ctprof::cli
