// --redact: pseudonyms in exported files.

#pragma once

#include <array>
#include <optional>
#include <string>

#include "core/base/keyed_hash.hpp"
#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options/common_options.hpp"

namespace ctprof::cli {

struct RedactionOptions {
  bool redact = false;
  std::string redact_key{};  // path of the key file; empty: a random key
};
inline constexpr std::array kRedaction{
    switch_on("redact", member<&RedactionOptions::redact>,
              "Replace names, paths, command lines, functions and the host name by stable "
              "pseudonyms. Numbers do not change. The default format is columns.")
        .only_typed(),
    option("redact-key", "FILE", member<&RedactionOptions::redact_key>, LastText(),
           "Derive the pseudonyms from FILE, 16 bytes or more, so that files with the same key can "
           "be compared. Default: a random key that is not stored.")
        .only_typed()};

// Redacts the snapshot if the options request it, and prints a summary unless --quiet is set. Fails
// if no key is available.
Result<void> redact_if_requested(Snapshot& snapshot, const Vocabulary& known,
                                 const RedactionOptions& redaction, const CommonOptions& options);

// Do the same in two steps, for several captures that share their pseudonyms. load_redaction_key()
// returns the key, or none if nothing is to be redacted; redact_with() redacts one capture.
Result<std::optional<KeyedHash::Key>> load_redaction_key(const RedactionOptions& options);
void redact_with(const KeyedHash::Key& key, Snapshot& snapshot, const Vocabulary& known,
                 const CommonOptions& options);

}  // namespace ctprof::cli
