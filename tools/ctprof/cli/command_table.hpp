// The table of all commands.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/ctprof/options/command.hpp"

namespace ctprof::cli {

// The commands, in the order of the help.
CommandSpan command_table();
// The same, and those that are not listed: `help`, and the unnamed one for a command line without a
// command.
CommandSpan all_commands();
// Finds a command of the table. Returns null if no such command exists.
const CommandInfo* find_command(std::string_view name);
// Returns " (did you mean 'compare'?)" for "diff", "comapre" and "Compare", otherwise an empty
// string. `other_words` are further candidates.
std::string command_hint(std::string_view word, std::vector<std::string> other_words = {});

// An empty text for a command, else "unknown command 'dif' (did you mean 'diff'?)".
std::string explain_unknown_command(const std::string& name);

}  // namespace ctprof::cli
