// The file's own top-level keys, which the reference does not have and no metric can have: one
// table, in the order in which they are written, before all else.
//
// To add a key: an entry in sections.cc, with how its value is written and read.
//
// What is here:   which keys there are, and who writes and reads each.
// What is not:    when (write/document.hpp, read/events.hpp, read/draft.hpp).

#pragma once

#include <array>
#include <boost/json/fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/file/layout/registry_part.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

class Work;

// What sections are written from.
struct SectionSource {
  const Snapshot& snapshot;
  const RegistryPart& registry;
  const std::array<std::vector<const Column*>, kEntities>& columns;  // all but hidden ones
};

// The parts of a draft (read/draft.hpp) that sections fill.
struct SectionTarget {
  Snapshot snapshot;
  std::optional<RegistryPart> registry;  // read, and not yet used
  bool has_meta = false;                 // the file has a `ctprof` object
};

// A reader that a section has no use for is null. Errors are the place and the reason. A value of
// null is the same as no such key, but for `begin`.
struct FileSection {
  std::string_view key;
  // Appends the value.
  void (*write)(const SectionSource& source, JsonWriter& out);
  // Takes what must be known before any row is read.
  Result<void> (*begin)(std::string_view json, SectionTarget& target);
  // Takes what is said of the whole, when all rows are there and none has been moved.
  Result<void> (*settle)(const boost::json::value& json, SectionTarget& target);
  // Takes what is said of one table's rows, when they are all there; of processes, when those have
  // been rebuilt. What that takes is spent of `work`.
  Result<void> (*explain)(const boost::json::value& json, Entity entity, SectionTarget& target,
                          Work& work);
};

std::span<const FileSection> file_sections();
// Null when the key is none of them.
const FileSection* find_file_section(std::string_view key);

// Reads the `ctprof` object over what `meta` has. What it does not know goes to `unknown`.
Result<void> read_meta(std::string_view json, Meta& meta, KeptMembers& unknown);

// The section that a file may have anywhere, and that its tables need first.
inline constexpr std::string_view kRegistryKey = "registry";

}  // namespace ctprof
