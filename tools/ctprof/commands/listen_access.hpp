// Access control of a ctprof that listens. Requests are accepted from clients with the token of
// --token-file, from users who may open the Unix socket, or, with --public, from every user of the
// host.
//
// A ctprof that runs as root or has capabilities can read data that other users must not see, so it
// requires one of these. Without privileges it reads only what its user may see, and requires none.

#pragma once

#include <string>

#include "core/base/result.hpp"
#include "tools/ctprof/commands/export_options.hpp"

namespace ctprof::cli {

// Whether this process may read more than its user's files and processes: it runs as root or has
// capabilities.
bool has_privileges();

// Fails if every local user could query a privileged ctprof and --public is missing.
Result<void> check_access(const PrometheusOptions& options);

// Reads the token from a file: one line of 16 to 4096 visible characters. Fails if others than the
// user may read the file. Opens it without ctprof's file capabilities. Returns an empty string if
// `path` is empty.
Result<std::string> read_token(const std::string& path);

// Whether the value of an Authorization header contains the token. The time does not depend on the
// position of the first difference. True if the token is empty.
bool is_authorized(const std::string& authorization, const std::string& token);

}  // namespace ctprof::cli
