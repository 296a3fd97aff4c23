// Writes the rows of one tree: a list of steps made once, then run for every row, straight from the
// columns.
//
// Keys that no column fills are constant text, and neighbours of them are one piece; so a row costs
// little more than its values.
//
// What is here:   the steps of a tree, running them.
// What is not:    which keys there are (layout.hpp), which rows (document.hpp).

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

// What stands at one leaf: a column, a mark, kept JSON, or nothing but the text for an absent
// value.
struct LeafContent {
  const Column* column = nullptr;
  std::span<const std::uint32_t>
      rows;  // the column's row for each row of the tree, kNoRow for none; empty: the same row
  const std::vector<std::uint8_t>* mark = nullptr;
  const std::vector<std::pair<std::uint32_t, RawJson>>* kept = nullptr;
  std::string absent;  // empty: the key is left out
};

class RowWriter {
 public:
  // REQUIRES: `contents` has an item for every leaf of `tree`; both they and `pools` outlive the
  // writer's use.
  RowWriter(const KeyNode& tree, std::span<const LeafContent> contents, const Pools& pools);

  // Appends the object of one row and a comma. REQUIRES: rows come in ascending order.
  void write(std::size_t row, JsonWriter& out);
  // Only the members, each with a comma.
  void write_members(std::size_t row, JsonWriter& out);

 private:
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

  struct Step {
    Kind kind = Kind::Literal;
    bool is_plain = true;  // a row's cell is its own, and its gap says all
    const ctprof_gap* gaps = nullptr;
    const void* values = nullptr;
    Phrase key;        // with its colon
    Phrase absent;     // key and all, for a cell without value; empty: nothing
    std::string text;  // a literal
    const LeafContent* content = nullptr;
    std::optional<CellCodes> codes;
    std::size_t next = 0;  // of kept JSON: the piece to come
  };

  void add_members(const KeyNode& node, std::span<const LeafContent> contents);
  void add_object(const KeyNode& node, std::span<const LeafContent> contents);
  void add_leaf(const KeyNode& node, const LeafContent& content);
  void add_column(Step& step);
  void add_literal(const std::string& text);

  void run(Step& step, std::size_t row, JsonWriter& out);
  void write_cell(const Step& step, std::size_t row, JsonWriter& out);
  void write_value(const Step& step, std::size_t row, JsonWriter& out);
  void write_bits(Id id, JsonWriter& out);
  void write_array(Id id, JsonWriter& out) const;
  void write_map(Id id, JsonWriter& out) const;
  void write_kept(Step& step, std::size_t row, JsonWriter& out) const;
  void close(JsonWriter& out);

  std::vector<Step> steps_;
  std::vector<std::size_t> open_;  // where the key of each open object began
  const Pools* pools_;
  std::unordered_map<Id, std::string> bits_;  // sets written before: threads share few
};

}  // namespace ctprof
