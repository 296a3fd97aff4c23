// A command: its name and texts, its options and the function that runs it. The file of a command
// declares the struct of its options, their list and one CommandInfo; cli/command_table.cc lists
// all commands.
//
//   const CommandInfo kDoctorCommand = make_command<DoctorOptions, run_doctor>(
//       {.name = "doctor", .summary = "report which metrics this host cannot provide", ...},
//       kDoctorOptions);

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/ctprof/options/common_options.hpp"
#include "tools/ctprof/options/option.hpp"

namespace ctprof::cli {

inline constexpr std::size_t kAnyNumber = SIZE_MAX;

// Part of a command's help that does not describe options: keys or subcommands.
struct HelpEntry {
  std::string term, text;
};
struct HelpSection {
  std::string title;
  std::size_t indent;  // of the texts in the help
  std::vector<HelpEntry> entries;
  std::string closing = {};  // after the entries in the help
};

struct CommandInfo {
  std::string_view name;
  std::string_view similar_names = {};  // names of similar commands in other tools; only for hints
  std::string_view arguments = {};      // as shown in the help
  std::string_view summary = {};
  std::string_view example = {};
  std::string_view more_examples = {};  // lines of the help, below the example
  std::size_t max_arguments = 0;
  bool reads_kernel = false;  // keeps ctprof's file capabilities; other commands drop them first
  bool prints_csv = false;
  bool takes_child_command = false;  // the words after -- are a command with options of its own
  std::span<const char* const> captions = {};    // of the parts of the help, in their order
  HelpSection (*make_help_section)() = nullptr;  // null: none
  std::span<const OptionSpec> options = {};      // empty: the command parses its own arguments

  std::shared_ptr<CommonOptions> (*make_options)() = nullptr;
  // Checks options against each other, after all are parsed.
  Result<void> (*check)(const CommandLine& line, CommonOptions& options) = nullptr;
  // Returns the exit status (output.hpp).
  int (*run)(const CommonOptions& options) = nullptr;
};

// All commands: those of the table, `help`, and an unnamed one for a command line without a
// command.
using CommandSpan = std::span<const CommandInfo* const>;

// Options: a struct that derives from CommonOptions.
template <class Options, int (*run)(const Options&)>
constexpr CommandInfo make_command(CommandInfo info, std::span<const OptionSpec> options) {
  info.options = options;
  info.make_options = []() -> std::shared_ptr<CommonOptions> {
    return std::make_shared<Options>();
  };
  info.check = [](const CommandLine& line, CommonOptions& common) {
    return static_cast<Options&>(common).check(line);
  };
  info.run = [](const CommonOptions& common) { return run(static_cast<const Options&>(common)); };
  return info;
}

// Returns the option with that long name, or null.
const OptionSpec* find_option(std::span<const OptionSpec> options, std::string_view long_name);
const OptionSpec* find_option(CommandSpan commands, std::string_view long_name);

// Returns each option of the commands once.
std::vector<const OptionSpec*> list_options(CommandSpan commands);

// Returns null if no such command exists.
const CommandInfo* find_command(CommandSpan commands, std::string_view name);

}  // namespace ctprof::cli
