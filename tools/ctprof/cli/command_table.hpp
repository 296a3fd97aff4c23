// The table of all commands.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

struct Verb {
  std::string_view name;
  std::string_view also;       // what people call it who come from other tools; for hints alone
  std::string_view arguments;  // as help shows them
  std::string_view summary;
  std::string_view example;
  int (*run)(const Options&);
  std::size_t most_arguments;
  bool reads_kernel = false;  // keeps capabilities of ctprof's file; the others drop them first
};
std::span<const Verb> verbs();
// Null if there is no such verb.
const Verb* find_verb(std::string_view name);
// " (did you mean 'compare'?)" of "diff", "comapre" and "Compare", else nothing. `others` may be
// meant too.
std::string verb_hint(std::string_view given, std::vector<std::string> others = {});

// An empty text for a command, else "unknown command 'dif' (did you mean 'diff'?)".
std::string why_unknown_command(const std::string& name);

}  // namespace ctprof::cli
