// Reads the text of a rows file into columns, in one pass.
//
// Definitions must be known before the tables. Our files have their registry first. If the registry
// follows later, because the keys were sorted, the pass stops there and returns the registry for a
// second pass.
//
// See also: text_source.hpp (the text), row_reader.hpp (rows).

#pragma once

#include <optional>
#include <string>

#include "core/base/json_scanner.hpp"
#include "core/file/layout/registry_part.hpp"
#include "core/file/read/snapshot_builder.hpp"
#include "core/registry/metric_def.hpp"

namespace ctprof {

// Options of a pass.
struct PassOptions {
  // Known from an earlier pass; the file's own registry is then skipped.
  std::optional<RegistryPart> registry;
  bool only_find_registry = false;  // only search for the registry
};

// The result of a pass, in addition to the filled columns.
struct PassResult {
  std::string failure;            // place and reason; empty: the whole file was read
  bool is_content_error = false;  // valid JSON, but not a valid snapshot
  // Found after the tables, or requested by only_find_registry.
  std::optional<RegistryPart> registry;
};

PassResult read_rows(TextSource& source, const Vocabulary& vocabulary, PassOptions options,
                     SnapshotBuilder& builder);

}  // namespace ctprof
