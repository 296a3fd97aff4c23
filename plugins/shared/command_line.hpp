// What the kernel was told on its command line.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ctprof/files.hpp"
#include "ctprof/host.hpp"

namespace ctprof {

inline bool is_on_command_line(const sdk::Host& host, std::string_view wanted) {
  sdk::TextFile file;
  const auto text = file.read(host.proc(), "cmdline");
  std::string_view words = text ? sdk::trimmed(text.value) : std::string_view{};
  while (!words.empty())
    if (sdk::take(words, ' ') == wanted) return true;
  return false;
}

// Every word that begins with `option`, without it, in order.
inline std::vector<std::string> boot_options(const sdk::Host& host, std::string_view option) {
  sdk::TextFile file;
  const auto text = file.read(host.proc(), "cmdline");
  std::vector<std::string> found;
  for (std::string_view rest = text ? sdk::trimmed(text.value) : std::string_view{}; !rest.empty();)
    if (const auto word = sdk::take(rest, ' '); word.starts_with(option)) found.emplace_back(word.substr(option.size()));
  return found;
}

// The last of them, for options whose last word counts; empty where there is none.
inline std::string boot_option(const sdk::Host& host, std::string_view option) {
  const auto found = boot_options(host, option);
  return found.empty() ? std::string() : found.back();
}

}  // namespace ctprof
