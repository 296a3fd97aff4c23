// --redact: pseudonyms in what is exported.

#pragma once

#include <optional>

#include "core/base/keyed_hash.hpp"
#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

// Redacts the snapshot where that is asked for, and tells, unless --quiet, what became of it. Fails
// where there is no key to be had.
Result<void> redact_as_asked(Snapshot& snapshot, const Vocabulary& known, const Options& options);

// The same in two steps, for several captures that are to have the same pseudonyms: what they are
// made by, none where nothing is to be redacted; and what is done to each.
Result<std::optional<KeyedHash::Key>> key_of_redaction(const Options& options);
void redact_with(const KeyedHash::Key& key, Snapshot& snapshot, const Vocabulary& known,
                 const Options& options);

}  // namespace ctprof::cli
