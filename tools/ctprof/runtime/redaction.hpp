// --redact: pseudonyms in exported files.

#pragma once

#include <optional>

#include "core/base/keyed_hash.hpp"
#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

// Redacts the snapshot if the options request it, and prints a summary unless --quiet is set. Fails
// if no key is available.
Result<void> redact_if_requested(Snapshot& snapshot, const Vocabulary& known,
                                 const Options& options);

// Do the same in two steps, for several captures that share their pseudonyms. load_redaction_key()
// returns the key, or none if nothing is to be redacted; redact_with() redacts one capture.
Result<std::optional<KeyedHash::Key>> load_redaction_key(const Options& options);
void redact_with(const KeyedHash::Key& key, Snapshot& snapshot, const Vocabulary& known,
                 const Options& options);

}  // namespace ctprof::cli
