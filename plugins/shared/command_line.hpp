// What the kernel was told on its command line.

#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "ctprof/files.hpp"
#include "ctprof/host.hpp"

namespace ctprof {

inline std::vector<std::string> command_line(const sdk::Host& host) {
  sdk::TextFile file;
  const auto text = file.read(host.proc(), "cmdline");
  std::vector<std::string> words;
  for (std::string_view rest = text ? sdk::trimmed(text.value) : std::string_view{}; !rest.empty();)
    words.emplace_back(sdk::take(rest, ' '));
  return words;
}

inline bool is_on_command_line(const sdk::Host& host, std::string_view wanted) {
  const auto words = command_line(host);
  return std::find(words.begin(), words.end(), wanted) != words.end();
}

// False too where the command line cannot be read.
inline bool is_known_to_lack(const sdk::Host& host, std::string_view wanted) {
  const auto words = command_line(host);
  return !words.empty() && std::find(words.begin(), words.end(), wanted) == words.end();
}

// Every word that begins with `option`, without it, in order.
inline std::vector<std::string> boot_options(const sdk::Host& host, std::string_view option) {
  std::vector<std::string> found;
  for (const std::string& word : command_line(host))
    if (word.starts_with(option)) found.push_back(word.substr(option.size()));
  return found;
}

// The last of them, for options whose last word counts; empty where there is none.
inline std::string boot_option(const sdk::Host& host, std::string_view option) {
  const auto found = boot_options(host, option);
  return found.empty() ? std::string() : found.back();
}

}  // namespace ctprof
