// Reads the objects of a rows file into the cells of columns: rows of threads and cgroups, and the
// values of the host. Tracks the place of the value that is being read.
//
// Most values are a number for a key that followed the same key in the previous row. They are read
// without a lookup.
//
// Contents: finding the leaf of a key, reading its value, and keeping keys that are unknown.
//
// See also: rows_reader.hpp, which reads the document; row_filler.hpp, which stores cells.

#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/json_scanner.hpp"
#include "core/file/layout/layout.hpp"
#include "core/file/layout/limits.hpp"
#include "core/file/read/row_filler.hpp"
#include "core/file/read/snapshot_builder.hpp"

namespace ctprof {

// Any failure stops the scanner. The caller checks for it once.
class RowReader {
 public:
  // REQUIRES: both outlive it.
  RowReader(Scanner& in, SnapshotBuilder& builder) : in_(&in), builder_(&builder) {}

  // Begins and ends the only row of the host. REQUIRES: the builder is prepared.
  void begin_host();
  void end_host() { check(rows_->end_row()); }
  // Reads the object of a row. A cgroup's path is its key, which precedes the object.
  void read_row(TreeRoot table, std::string_view cgroup_path = {});
  // Reads the value of a key.
  void read_value(KeyNode& node) {
    node_ = &node;
    std::uint64_t number = 0;
    if (!node.is_leaf() || !in_->consume_short_number(number)) return read_other_value(node);
    check(rows_->put_number(rows_->slot(node.leaf), number));
  }

  // Sets the key at the top of the document whose value follows; empty between such keys.
  // After a failure, the place remains.
  void set_top_key(std::string_view key) {
    if (in_->has_failed()) return;
    top_key_ = key;
    node_ = nullptr;
  }
  // Returns the place of the current value, such as "threads[12].nice".
  std::string location() const;

  // Report an error in the contents of the file. The text continues a message that begins with the
  // place. No effect after another error.
  void reject(std::string error_text);
  // The same for the next value, if values of its kind are not allowed there.
  void reject_kind(std::string_view reason = ", which is not allowed there");
  // Rejects a key that is too long.
  void check_key(std::string_view key);
  // Returns the error in the contents; empty without one.
  const std::string& error_text() const { return error_text_; }

 private:
  void read_object(KeyNode& object);
  KeyNode* find_member(KeyNode& object, KeyNode**& next);
  bool consume_key(const KeyNode& node);
  void keep_unknown_member();
  void read_other_value(KeyNode& node);
  void read_inner_object(KeyNode& node);
  void read_number(Slot& slot);
  void read_items(Slot& slot);
  void read_map(Slot& slot);
  bool read_whole_number(std::uint64_t& value, std::string_view below_zero);
  // Returns how deep the next value may be nested.
  std::size_t allowed_depth() const {
    constexpr std::size_t kHostLevels = 1, kRowLevels = 3;  // objects and arrays around members
    return limits::kDepth - depth_ - (table_ == TreeRoot::Host ? kHostLevels : kRowLevels);
  }
  void check(bool fine) {
    if (!fine) reject(rows_->error_text());
  }

  Scanner* in_;
  SnapshotBuilder* builder_;
  RowFiller* rows_ = nullptr;  // the table of the current row
  TreeRoot table_ = TreeRoot::Host;
  // The objects between the row and the current value.
  std::array<const KeyNode*, limits::kPathKeys> path_{};
  std::size_t depth_ = 0;
  const KeyNode* node_ = nullptr;  // the last key
  std::string unknown_key_;
  std::string top_key_;
  std::string error_text_;
};

}  // namespace ctprof
