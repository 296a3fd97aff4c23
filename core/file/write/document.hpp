// A snapshot as the text of a file.
//
//   {"ctprof": {...}, "registry": {...}, "gaps": {...},    our own keys, not the reference's
//    "read_at": [...], "raw": {...},
//    "captured_at_unix_ns": 1, "host": {...}, ...,         objects that are kept as they are
//    "threads": [{...}, ...],                              the tables
//    "cgroup_stats": {"/path": {...}, ...}, "psi": {...}, ...}
//
// A file has every key of the vocabulary, whatever the snapshot holds. The same snapshot gives the
// same text.
//
// What is here:   what is written, and in which order.
// What is not:    the rows' steps (row_writer.hpp), compressing and naming (zstd_sink.hpp,
// out_file.hpp).

#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/base/sink.hpp"
#include "core/file/layout/layout.hpp"
#include "core/file/layout/registry_part.hpp"
#include "core/file/write/row_writer.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

class Document {
 public:
  // REQUIRES: both outlive it.
  Document(const Snapshot& snapshot, const Vocabulary& vocabulary);
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  Result<void> write(Sink& sink);

 private:
  struct Placed {
    const MetricDef* def;
    std::size_t leaf;
  };

  Layout places_of_contents() const;
  void place_metrics();
  void place_metric(const MetricDef& def, const Column* column, std::vector<Placed>& placed);
  void list_metrics();
  void place_kept_keys(Entity entity);
  void place_nulls();
  void fill_marks();
  void find_leaders();
  LeafContent content_of(const MetricDef& def, const Column* column) const;
  std::vector<LeafContent>& contents(Root root) {
    return contents_[static_cast<std::size_t>(root)];
  }

  void write_sections();
  void write_objects();
  Result<void> write_threads(Sink& sink);
  Result<void> write_cgroups(Sink& sink);
  Result<void> flush(Sink& sink);

  const Snapshot* snapshot_;
  const Vocabulary* vocabulary_;
  Layout layout_;
  std::array<std::vector<LeafContent>, kRoots> contents_;      // by leaf
  std::array<std::vector<const Column*>, kEntities> columns_;  // all but hidden ones
  std::unordered_set<const Column*> placed_;
  RegistryPart registry_;
  std::map<std::string, std::vector<std::uint8_t>, std::less<>> marks_;  // of threads, by row
  std::vector<std::uint32_t>
      process_rows_;  // per thread row: the process that it stands for, or kNoRow
  JsonWriter out_;
};

}  // namespace ctprof
