// ctprof export --to prometheus: figures of groups, as a file or to whoever asks.

#pragma once

#include <string_view>

#include "tools/ctprof/options/options.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {

inline constexpr std::string_view kPrometheus = "prometheus";

// Writes the file, and tells that or what was wrong. Returns the exit status.
int export_prometheus(const Options& options, const Target& target);

// Answers on a loopback address until Ctrl-C or SIGTERM. Returns the exit status.
int listen_prometheus(const Options& options);

}  // namespace ctprof::cli
