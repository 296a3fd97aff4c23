// The parts of a new plugin in Rust that depend on its kind of source, and the crate that it
// contains.
//
// To add a kind of source, add a line to kRustSources in rust_scaffold.cc. To add a file to the
// crate, add it to templates/meson.build and to kCrateFiles.

#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/ctprof/plugin/scaffold_file.hpp"

namespace ctprof::cli {

// Returns the values of the words @rust_...@ of templates. REQUIRES: a valid kind of source.
std::map<std::string, std::string, std::less<>> make_rust_words(std::string_view source);

// Returns the files of the crate ctprof-sdk, in a directory of that name.
std::vector<ScaffoldFile> make_crate_files();

}  // namespace ctprof::cli
