// Writes a snapshot as the text of a rows file.
//
//   {"ctprof": {...}, "registry": {...}, "gaps": {...},    our own keys, not the reference's
//    "read_at": [...], "raw": {...},
//    "captured_at_unix_ns": 1, "host": {...}, ...,         objects that are copied as text
//    "threads": [{...}, ...],                              the tables
//    "cgroup_stats": {"/path": {...}, ...}, "psi": {...}, ...}
//
// A file has every key of the vocabulary, whatever the snapshot contains. The same snapshot always
// results in the same text and the same parts, which several workers can write concurrently.
//
// Contents: which keys are written, and in which order.
//
// See also: row_writer.hpp for rows, write_file.cc for compression, out_file.hpp for the file.

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

// The text of a rows file.
class Document {
 public:
  // REQUIRES: both outlive it, and the snapshot is not a window (closing_snapshot() in
  // window/make_window.hpp).
  Document(const Snapshot& snapshot, const Vocabulary& vocabulary);
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  // The buffers of one worker.
  class WorkerBuffers {
   public:
    // REQUIRES: the document outlives it.
    explicit WorkerBuffers(const Document& document);

   private:
    friend class Document;
    JsonWriter out_;
    RowWriter threads_;
    RowWriter cgroups_;
  };

  // Returns the number of parts. The text is their concatenation.
  std::size_t part_count() const { return 1 + thread_parts_ + cgroup_parts_; }
  // Writes one part. Threads: any, each with its own buffers. REQUIRES: each worker writes its
  // parts in ascending order.
  Result<void> write(std::size_t part, WorkerBuffers& buffers, Sink& sink) const;
  // Writes all parts.
  Result<void> write(Sink& sink) const;

 private:
  // A metric and its leaf.
  struct MetricLeaf {
    const MetricDef* def;
    std::size_t leaf;
  };

  Layout key_paths_of_contents() const;
  void add_metrics();
  void add_metric(const MetricDef& def, const Column* column, std::vector<MetricLeaf>& placed);
  void list_metrics();
  void add_kept_keys(Entity entity);
  void add_null_objects();
  void fill_marks();
  void find_leaders();
  LeafContent content_of(const MetricDef& def, const Column* column) const;
  std::vector<LeafContent>& contents_of(TreeRoot root) {
    return contents_[static_cast<std::size_t>(root)];
  }
  RowWriter row_writer_of(TreeRoot root) const;

  void write_start(JsonWriter& out) const;
  void write_sections(JsonWriter& out) const;
  void write_objects(JsonWriter& out) const;
  Result<void> write_threads(std::size_t part, WorkerBuffers& buffers, Sink& sink) const;
  Result<void> write_cgroups(std::size_t part, WorkerBuffers& buffers, Sink& sink) const;

  const Snapshot* snapshot_;
  const Vocabulary* vocabulary_;
  Layout layout_;
  std::array<std::vector<LeafContent>, kRoots> contents_;      // by leaf
  std::array<std::vector<const Column*>, kEntities> columns_;  // without hidden columns
  std::unordered_set<const Column*> placed_columns_;
  RegistryPart registry_;
  std::map<std::string, std::vector<std::uint8_t>, std::less<>> marks_;  // marks of threads, by row
  // Per thread row: the process whose metrics it has, or kNoRow.
  std::vector<std::uint32_t> process_rows_;
  std::size_t thread_parts_;
  std::size_t cgroup_parts_;
};

}  // namespace ctprof
