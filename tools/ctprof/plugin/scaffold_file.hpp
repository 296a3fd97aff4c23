// One file of a new plugin.

#pragma once

#include <string>

namespace ctprof::cli {

struct ScaffoldFile {
  std::string path;  // in the directory of the plugin
  std::string text;
};

}  // namespace ctprof::cli
