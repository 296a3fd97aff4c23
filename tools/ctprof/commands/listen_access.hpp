// Who may ask a ctprof that listens: whoever has the token of --token-file, whoever may open a Unix
// socket, or, with --public, every user of the host.
//
// A ctprof that runs as root, or has capabilities, shows what other users must not see; so it needs
// one of these. One without privileges shows what its user sees, and needs none.

#pragma once

#include <string>

#include "core/base/result.hpp"
#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

// Whether this process may see more than its user's files and processes: it is root's, or has
// capabilities.
bool has_privileges();

// Fails where every local user could ask a ctprof with privileges, and --public is missing.
Result<void> check_access(const Options& options);

// The token in a file: one line of 16 to 4096 visible characters. Fails if others than the user may
// read the file. Opened without lent capabilities. Empty if `path` is empty.
Result<std::string> read_token(const std::string& path);

// Whether the value of an Authorization header carries the token. How long that takes does not
// depend on where they differ. True if the token is empty.
bool is_authorized(const std::string& authorization, const std::string& token);

}  // namespace ctprof::cli
