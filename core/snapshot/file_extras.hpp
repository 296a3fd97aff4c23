// The parts of a file that this version of ctprof does not know. They are kept, so that a file that
// is loaded and written again loses nothing.
//
// `Snapshot::extras` contains them. core/file reads and writes them. Other code only removes what
// no longer matches the snapshot, and needs this header for that.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/registry/metric_def.hpp"
#include "core/snapshot/raw_json.hpp"

namespace ctprof {

// Keys of rows that no metric describes. A path consists of keys separated by dots; a backslash
// escapes a dot or backslash within a key. Each entry is a row number and its JSON, ascending by
// row.
using KeptKeys = std::map<std::string, std::vector<std::pair<std::uint32_t, RawJson>>>;

// Members of an object that this version does not know, by key.
using KeptMembers = std::map<std::string, RawJson, std::less<>>;

// A metric with an entity, storage or newtype that this version does not know. Its cells are in
// kept keys, or in kept lines if the entity is unknown.
struct UnknownMetric {
  std::string name;
  std::optional<Entity> entity;  // none: unknown
  std::string path;              // path of its cells in KeptKeys
  RawJson definition;
};

// The parts of a file's registry that this version does not know.
struct UnknownDefinitions {
  KeptMembers members;  // members of the registry itself
  std::vector<UnknownMetric> metrics;
  std::vector<RawJson> derived;  // derived metrics of unknown entities
  std::map<std::string, KeptMembers, std::less<>>
      metric_members;  // unknown members of known metrics, by name
  std::map<std::string, KeptMembers, std::less<>> derived_members;

  // Returns null if no unknown metric of this entity has the name.
  const UnknownMetric* find_metric(Entity entity, std::string_view name) const {
    const auto found = std::ranges::find_if(metrics, [&](const UnknownMetric& metric) {
      return metric.entity == entity && metric.name == name;
    });
    return found == metrics.end() ? nullptr : &*found;
  }
};

// Rows of an unknown entity, as lines of a columns file.
struct UnknownRows {
  std::string entity;
  std::vector<std::string> columns{};  // columns that the line `window` lists
  std::vector<std::uint64_t> rows{};   // number of rows in each line
  std::vector<std::string> lines{};    // in file order, without line feeds
};

struct FileExtras {
  // Keys of `Snapshot::objects` that a columns file has in its header, in addition to the host.
  std::set<std::string, std::less<>> header_objects;
  KeptMembers unknown_meta;  // members of the `ctprof` object
  // Members of the `ctprof` object in the summary of a columns file.
  KeptMembers unknown_summary_meta;
  UnknownDefinitions unknown_definitions;
  // Below a row, by the row's entity; processes have none.
  std::array<KeptKeys, kEntities> unknown_keys;
  std::vector<RawJson> unknown_lines;       // lines of unknown kinds of a columns file
  std::vector<UnknownRows> unknown_tables;  // rows of unknown entities of a columns file
  KeptMembers unknown_gaps;                 // `gaps` of unknown entities in a rows file
  KeptMembers unknown_raw;                  // `raw` of unknown entities in a rows file
  // Of a window.
  KeptMembers unknown_window;              // members of the line `window`
  std::vector<UnknownRows> unknown_bases;  // columns of unknown entities at the opening
  // Values of unknown metrics at the opening, by entity and name, including nulls. A row without an
  // entry has the same value as at the end.
  std::array<KeptKeys, kEntities> unknown_base_cells;
  std::vector<UnknownRows>
      unknown_opening_only;  // rows of unknown entities that only the opening has

  // Removes the parts of a window, when the snapshot stops being one.
  void clear_window() {
    unknown_window.clear();
    unknown_bases.clear();
    unknown_base_cells = {};
    unknown_opening_only.clear();
  }
};

}  // namespace ctprof
