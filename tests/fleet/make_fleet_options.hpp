// The command line of make_fleet (make_fleet.cc).

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace ctprof::make_fleet {

struct Kernel {
  std::string release;
  double share = 0;
};

struct Shift {
  std::string metric;
  double factor = 1;
  std::string kernel, group;  // empty: all groups
};

struct Asked {
  std::vector<std::string> seeds;
  std::size_t hosts = 0, least = 500, most = 5000;
  std::vector<Kernel> kernels;
  std::vector<Shift> shifts;
  double host_spread = 0.1, row_spread = 0.3;
  std::uint64_t seed = 1;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  std::string directory;
};

[[noreturn]] inline void stop(const std::string& why) {
  std::cerr << "make_fleet: " << why << "\n";
  std::exit(2);
}

inline std::pair<std::string, std::string> split_at(const std::string& text, char mark) {
  const auto at = text.find(mark);
  if (at == text.npos) stop("'" + text + "' has no " + mark);
  return {text.substr(0, at), text.substr(at + 1)};
}

inline double number_in(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !std::isfinite(number)) stop("'" + text + "' is no number");
  return number;
}

inline std::size_t count_in(const std::string& text) {
  const double number = number_in(text);
  if (number < 1 || number > 1e9) stop("'" + text + "' is no count");
  return static_cast<std::size_t>(number);
}

// Parses METRIC=FACTOR@KERNEL[:GROUP].
inline Shift shift_in(const std::string& text) {
  const auto [metric, rest] = split_at(text, '=');
  const auto [factor, where] = split_at(rest, '@');
  const auto colon = where.find(':');
  return {metric, number_in(factor), where.substr(0, colon),
          colon == where.npos ? "" : where.substr(colon + 1)};
}

inline void take_option(Asked& asked, const std::string& option, const std::string& value) {
  if (option == "--hosts") {
    asked.hosts = count_in(value);
  } else if (option == "--threads") {
    const auto [least, most] = split_at(value, ':');
    asked.least = count_in(least), asked.most = count_in(most);
  } else if (option == "--kernel") {
    const auto [release, share] = split_at(value, '=');
    asked.kernels.push_back({release, number_in(share)});
  } else if (option == "--shift") {
    asked.shifts.push_back(shift_in(value));
  } else if (option == "--spread") {
    const auto [host, row] = split_at(value, ':');
    asked.host_spread = number_in(host), asked.row_spread = number_in(row);
  } else if (option == "--seed") {
    asked.seed = count_in(value);
  } else if (option == "--jobs") {
    asked.jobs = static_cast<unsigned>(count_in(value));
  } else if (option == "-o") {
    asked.directory = value;
  } else {
    stop("unknown option '" + option + "'");
  }
}

inline Asked parse(std::span<char* const> words) {
  Asked asked;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string word = words[at];
    if (!word.starts_with("-")) {
      asked.seeds.push_back(word);
      continue;
    }
    if (++at == words.size()) stop("missing the value of " + word);
    take_option(asked, word, words[at]);
  }
  if (asked.seeds.empty()) stop("missing SEED: a window that ctprof record made");
  if (asked.hosts == 0 || asked.directory.empty()) stop("missing --hosts or -o");
  if (asked.least > asked.most) stop("--threads: the least is more than the most");
  return asked;
}

}  // namespace ctprof::make_fleet
