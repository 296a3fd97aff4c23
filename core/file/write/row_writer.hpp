// Writes the rows of one tree. The constructor builds a list of steps, which is executed for every
// row and reads the columns directly.
//
// Keys without a column are constant text, and adjacent ones are merged, so that a row costs little
// more than its values.
//
// Contents: the steps of a tree, and their execution.
//
// See also: layout.hpp for the keys, document.hpp for the rows.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/file/layout/cell.hpp"
#include "core/file/layout/layout.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

inline constexpr std::uint32_t kNoRow = static_cast<std::uint32_t>(-1);

// The content of a leaf: a column, a mark, kept JSON, or only the text of an absent value.
struct LeafContent {
  const Column* column = nullptr;
  // For each row of the tree: the column's row, or kNoRow; empty: the same row.
  std::span<const std::uint32_t> rows;
  const std::vector<std::uint8_t>* mark = nullptr;
  const std::vector<std::pair<std::uint32_t, RawJson>>* kept_json = nullptr;
  std::string absent;  // JSON without a value; empty: the key is left out
};

class RowWriter {
 public:
  // REQUIRES: `contents` has an item for every leaf of `tree`; both of them and `pools` outlive the
  // writer.
  RowWriter(const KeyNode& tree, std::span<const LeafContent> contents, const Pools& pools);

  // Appends the object of one row and a comma. REQUIRES: rows are written in ascending order.
  void write(std::size_t row, JsonWriter& out);
  // Appends only the members, each with a comma.
  void write_members(std::size_t row, JsonWriter& out);

 private:
  // The kind of output of a step.
  enum class Kind : std::uint8_t {
    Literal,
    Open,
    Close,
    U64,
    I64,
    F64,
    Bool,
    ZeroOne,
    Text,
    Bits,
    Array,
    Map,
    Mark,
    Kept
  };

  // One step of writing a row.
  struct Step {
    Kind kind = Kind::Literal;
    bool is_direct = true;  // the row numbers are equal, and the gap determines the code
    const ctprof_gap* gaps = nullptr;
    const void* values = nullptr;
    PreparedJson key;     // key with its colon
    PreparedJson absent;  // key and value of a cell without value; empty: left out
    std::string text;     // text of a literal
    const LeafContent* content = nullptr;
    std::optional<CellCodes> codes;
    std::size_t next = 0;  // kept JSON: index of the next item
  };

  void add_members(const KeyNode& node, std::span<const LeafContent> contents);
  void add_object(const KeyNode& node, std::span<const LeafContent> contents);
  void add_leaf(const KeyNode& node, const LeafContent& content);
  void add_column(Step& step);
  void add_literal(const std::string& text);

  void run_step(Step& step, std::size_t row, JsonWriter& out);
  void write_cell(const Step& step, std::size_t row, JsonWriter& out);
  void write_value(const Step& step, std::size_t row, JsonWriter& out);
  void write_bits(Id id, JsonWriter& out);
  void write_array(Id id, JsonWriter& out) const;
  void write_map(Id id, JsonWriter& out) const;
  void write_kept(Step& step, std::size_t row, JsonWriter& out) const;
  void close(JsonWriter& out);

  std::vector<Step> steps_;
  std::vector<std::size_t> open_objects_;  // position of the key of each open object
  const Pools* pools_;
  // JSON of sets that were written before, because threads share few sets.
  std::unordered_map<Id, std::string> known_sets_;
};

}  // namespace ctprof
