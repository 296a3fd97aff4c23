// A snapshot as the text of a file.
//
//   {"ctprof": {...}, "registry": {...}, "gaps": {...},    our own keys, not the reference's
//    "read_at": [...], "raw": {...},
//    "captured_at_unix_ns": 1, "host": {...}, ...,         objects that are kept as they are
//    "threads": [{...}, ...],                              the tables
//    "cgroup_stats": {"/path": {...}, ...}, "psi": {...}, ...}
//
// A file has every key of the vocabulary, whatever the snapshot holds. The same snapshot gives the
// same text, in the same parts: several workers can write them at the same time.
//
// What is here:   what is written, and in which order.
// What is not:    the rows' steps (row_writer.hpp), compressing (write_file.cc), naming
// (out_file.hpp).

#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/file/layout/layout.hpp"
#include "core/file/layout/registry_part.hpp"
#include "core/file/write/row_writer.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

class Document {
 public:
  // REQUIRES: both outlive it, and the snapshot is no window (end_of() in window/make_window.hpp).
  Document(const Snapshot& snapshot, const Vocabulary& vocabulary);
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  // What one worker writes with, part after part.
  class Pen {
   public:
    // REQUIRES: the document outlives it.
    explicit Pen(const Document& document);

   private:
    friend class Document;
    JsonWriter out_;
    RowWriter threads_;
    RowWriter cgroups_;
  };

  // The text is these parts, one after the other.
  std::size_t parts() const { return 1 + thread_parts_ + cgroup_parts_; }
  // Writes one part. Safe from several threads, each with a pen of its own.
  // REQUIRES: the parts that one pen writes ascend.
  Result<void> write(std::size_t part, Pen& pen, Sink& sink) const;
  // Writes all of them.
  Result<void> write(Sink& sink) const;

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
  RowWriter rows_of(Root root) const;

  void write_beginning(JsonWriter& out) const;
  void write_sections(JsonWriter& out) const;
  void write_objects(JsonWriter& out) const;
  Result<void> write_threads(std::size_t part, Pen& pen, Sink& sink) const;
  Result<void> write_cgroups(std::size_t part, Pen& pen, Sink& sink) const;

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
  std::size_t thread_parts_;
  std::size_t cgroup_parts_;
};

}  // namespace ctprof
