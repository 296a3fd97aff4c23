// The files of a new plugin, as text: a template for each language, filled in for each kind of
// source.
//
// To add a kind of source, add a line to kSources in scaffold.cc. To add a language, add a template
// and a line to kLanguages. Both names also belong to plugin_options.hpp.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ctprof::cli {

struct ScaffoldFile {
  std::string path;  // in the directory of the plugin
  std::string text;
};

// Whether a plugin can have this name: its metrics and its file begin with it.
bool is_plugin_name(std::string_view name);

// REQUIRES: all three are valid.
std::vector<ScaffoldFile> scaffold(std::string_view name, std::string_view language,
                                   std::string_view source);

}  // namespace ctprof::cli
