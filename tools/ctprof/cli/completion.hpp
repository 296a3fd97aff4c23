// Completion of the command line: `ctprof completion SHELL` prints what a shell needs, and that
// asks `ctprof complete WORD...` what can stand in the place of the last word.
//
// The answer is a line for each word, with a tab and a description behind it where there is one;
// `:files` or `:directories` instead say that the shell knows best. It comes from the tables of
// verbs and options, and from the plugins that are here.

#pragma once

#include <span>
#include <string>
#include <vector>

namespace ctprof::cli {

struct Candidate {
  std::string word;
  std::string description = {};
};

// `words`: those behind ctprof; the last one, maybe empty, is what somebody types. Only what begins
// as it does is returned.
std::vector<Candidate> candidates(std::span<const std::string> words);

// Prints them. It stands apart from other verbs, since what is half typed is no command line yet.
int run_complete(std::span<const char* const> words);

}  // namespace ctprof::cli
