// The table of all commands.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

struct CommandInfo {
  std::string_view name;
  std::string_view similar_names;  // names of similar commands in other tools; only for hints
  std::string_view arguments;      // as shown in the help
  std::string_view summary;
  std::string_view example;
  int (*run)(const Options&);
  std::size_t max_arguments;
  bool reads_kernel = false;  // keeps capabilities of ctprof's file; other commands drop them first
};
std::span<const CommandInfo> command_table();
// Returns null if no such command exists.
const CommandInfo* find_command(std::string_view name);
// Returns " (did you mean 'compare'?)" for "diff", "comapre" and "Compare", otherwise an empty
// string. `other_words` are further candidates.
std::string command_hint(std::string_view word, std::vector<std::string> other_words = {});

// An empty text for a command, else "unknown command 'dif' (did you mean 'diff'?)".
std::string explain_unknown_command(const std::string& name);

}  // namespace ctprof::cli
