// The files of a new plugin as text: one template per language, filled in for each kind of source.
//
// To add a kind of source, add a line to kSources in scaffold.cc, or templates (own_templates.hpp).
// To add a language, add a template and a line to kLanguages. Both names also belong to
// plugin_options.hpp.

#pragma once

#include <string_view>
#include <vector>

#include "tools/ctprof/plugin/scaffold_file.hpp"

namespace ctprof::cli {

// Whether a plugin can have this name, which is also the prefix of its metrics and file.
bool is_plugin_name(std::string_view name);

// Returns the files of the plugin. REQUIRES: all three arguments are valid.
std::vector<ScaffoldFile> make_scaffold_files(std::string_view name, std::string_view language,
                                              std::string_view source);

}  // namespace ctprof::cli
