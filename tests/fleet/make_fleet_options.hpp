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

struct FleetOptions {
  std::vector<std::string> seeds;
  std::size_t hosts = 0, min_threads = 500, max_threads = 5000;
  std::vector<Kernel> kernels;
  std::vector<Shift> shifts;
  double host_spread = 0.1, row_spread = 0.3;
  std::uint64_t seed = 1;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  std::string directory;
};

[[noreturn]] inline void exit_with_error(const std::string& message) {
  std::cerr << "make_fleet: " << message << "\n";
  std::exit(2);
}

inline std::pair<std::string, std::string> split_at(const std::string& text, char mark) {
  const auto at = text.find(mark);
  if (at == text.npos) exit_with_error("'" + text + "' has no " + mark);
  return {text.substr(0, at), text.substr(at + 1)};
}

inline double parse_number(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !std::isfinite(number))
    exit_with_error("'" + text + "' is not a number");
  return number;
}

inline std::size_t parse_count(const std::string& text) {
  const double number = parse_number(text);
  if (number < 1 || number > 1e9) exit_with_error("'" + text + "' is not a number from 1 to 1e9");
  return static_cast<std::size_t>(number);
}

// Parses METRIC=FACTOR@KERNEL[:GROUP].
inline Shift parse_shift(const std::string& text) {
  const auto [metric, rest] = split_at(text, '=');
  const auto [factor, where] = split_at(rest, '@');
  const auto colon = where.find(':');
  return {metric, parse_number(factor), where.substr(0, colon),
          colon == where.npos ? "" : where.substr(colon + 1)};
}

inline void read_option(FleetOptions& options, const std::string& option,
                        const std::string& value) {
  if (option == "--hosts") {
    options.hosts = parse_count(value);
  } else if (option == "--threads") {
    const auto [min_threads, max_threads] = split_at(value, ':');
    options.min_threads = parse_count(min_threads), options.max_threads = parse_count(max_threads);
  } else if (option == "--kernel") {
    const auto [release, share] = split_at(value, '=');
    options.kernels.push_back({release, parse_number(share)});
  } else if (option == "--shift") {
    options.shifts.push_back(parse_shift(value));
  } else if (option == "--spread") {
    const auto [host, row] = split_at(value, ':');
    options.host_spread = parse_number(host), options.row_spread = parse_number(row);
  } else if (option == "--seed") {
    options.seed = parse_count(value);
  } else if (option == "--jobs") {
    options.jobs = static_cast<unsigned>(parse_count(value));
  } else if (option == "-o") {
    options.directory = value;
  } else {
    exit_with_error("unknown option '" + option + "'");
  }
}

inline FleetOptions parse_options(std::span<char* const> words) {
  FleetOptions options;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string word = words[at];
    if (!word.starts_with("-")) {
      options.seeds.push_back(word);
      continue;
    }
    if (++at == words.size()) exit_with_error("missing the value of " + word);
    read_option(options, word, words[at]);
  }
  if (options.seeds.empty()) exit_with_error("missing SEED: a window that ctprof record made");
  if (options.hosts == 0 || options.directory.empty()) exit_with_error("missing --hosts or -o");
  if (options.min_threads > options.max_threads)
    exit_with_error("--threads: the minimum is larger than the maximum");
  return options;
}

}  // namespace ctprof::make_fleet
