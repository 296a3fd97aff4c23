// Completion of the command line. `ctprof completion SHELL` prints the script for a shell. That
// script runs `ctprof complete WORD...` to get the candidates for the last word.
//
// The output has one line per candidate, with a tab and a description where one exists. `:files` or
// `:directories` instead lets the shell complete file names. Candidates come from the tables of
// commands and options and from the installed plugins.

#pragma once

#include <span>
#include <string>
#include <vector>

namespace ctprof::cli {

struct Candidate {
  std::string word;
  std::string description = {};
};

// Returns the candidates that begin with the last word. `words` are the words after ctprof; the
// last one is being typed and may be empty.
std::vector<Candidate> find_candidates(std::span<const std::string> words);

// Prints the candidates. This is not in the table of commands, because a partly typed command line
// cannot be parsed.
int run_complete(std::span<const char* const> words);

}  // namespace ctprof::cli
