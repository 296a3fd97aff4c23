// The file's own top-level keys, which neither the reference nor a metric can have. One table lists
// them in the order in which they are written, before all other keys.
//
// To add a key, add an entry in sections.cc with the functions that write and read its value.
//
// Contents: the keys, and their writers and readers.
//
// See also: write/document.hpp, read/rows_reader.hpp and read/snapshot_builder.hpp, which call
// them.

#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/file/layout/registry_part.hpp"
#include "core/snapshot/file_extras.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

class WorkBudget;

// The input of a section's writer.
struct SectionInput {
  const Snapshot& snapshot;
  const RegistryPart& registry;
  const std::array<std::vector<const Column*>, kEntities>& columns;  // without hidden columns
};

// The parts of a SnapshotBuilder (read/snapshot_builder.hpp) that sections fill.
struct SectionTarget {
  Snapshot snapshot;
  std::optional<RegistryPart> registry;  // read, and not yet used
  bool has_meta = false;                 // the file has a `ctprof` object
};

// A section of the file. Unused functions are null. The readers receive the value's text, which is
// valid JSON. Errors contain the place and the reason. A value of null is treated as a missing key,
// except by `read_before_rows`.
struct FileSection {
  std::string_view key;
  // Appends the value.
  void (*write)(const SectionInput& source, JsonWriter& out);
  // Reads a value that is needed before any row is read.
  Result<void> (*read_before_rows)(std::string_view json, SectionTarget& target);
  // Reads a value about the whole file, after all rows are read and before they are sorted.
  Result<void> (*read_after_rows)(std::string_view json, SectionTarget& target);
  // Reads the member about one table's rows after they are read; for processes, after they are
  // rebuilt. The steps are deducted from `work`.
  Result<void> (*read_for_table)(std::string_view json, Entity entity, SectionTarget& target,
                                 WorkBudget& work);
  // Keeps the members about tables that this version does not know.
  KeptMembers FileExtras::*unknown_tables = nullptr;
};

// The members of a section with one member for each table.
struct SplitSection {
  const FileSection* section = nullptr;
  std::array<std::string_view, kBuiltinEntities> parts{};  // empty: missing
  std::string_view part_of(Entity entity) const { return parts[static_cast<std::size_t>(entity)]; }
};
// Splits the value of a section with read_for_table(), and keeps the members about unknown tables.
// REQUIRES: the text outlives the result.
Result<SplitSection> split_section(const FileSection& section, std::string_view json,
                                   SectionTarget& target);

std::span<const FileSection> file_sections();
// Returns null if the key is not a section.
const FileSection* find_file_section(std::string_view key);

// Reads the `ctprof` object into `meta`. Unknown members go to `unknown`.
Result<void> read_meta(std::string_view json, Meta& meta, KeptMembers& unknown);

// The section that may be anywhere in a file, although the tables need it first.
inline constexpr std::string_view kRegistryKey = "registry";

}  // namespace ctprof
