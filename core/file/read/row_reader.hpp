// A fast path for rows of threads that are spelled as this program writes them: no blanks, no
// escapes, only whole numbers, and keys in the order of a previous row.
//
// It reads only rows that are certainly valid. At anything else it drops the row without side
// effects. The parser then reads the row from its start, and reports errors in it. The rules for
// valid files are therefore only in the parser's handler.
//
// Contents: reading complete rows into cells.
//
// See also: json_handler.hpp and read_pass.cc, which call it between rows; row_filler.hpp for
// cells.

#pragma once

#include <cstddef>
#include <string_view>

#include "core/file/layout/layout.hpp"
#include "core/file/read/row_filler.hpp"

namespace ctprof {

class RowReader {
 public:
  // REQUIRES: both outlive it; `tree` is the layout of the rows.
  RowReader(const KeyNode& tree, RowFiller& rows) : tree_(&tree), rows_(&rows) {}

  // Reads the rows with which `text` begins, each with the comma after it. Returns the number of
  // bytes read; the parser must read the text from there on. REQUIRES: `text` is at a place where a
  // row must follow, such as after a comma, and is at most one slice.
  std::size_t read(std::string_view text);

 private:
  // Each function returns the end of what it read, or null if the text is unexpected. The inline
  // ones are defined in row_reader.cc.
  const char* read_row(const char* at);
  const char* read_members(const char* at);
  inline const char* match_key(const char* at, const KeyNode& node) const;
  const char* read_value(const char* at, Slot& slot);
  inline const char* read_number(const char* at, Slot& slot);
  const char* read_negative(const char* at, Slot& slot);
  const char* read_text(const char* at, Slot& slot);
  const char* read_word(const char* at, Slot& slot);
  const char* read_items(const char* at, Slot& slot);
  const char* read_map(const char* at, Slot& slot);
  const char* read_entry(const char* at, bool is_kept);
  inline const char* read_digits(const char* at, std::uint64_t& value) const;
  inline const char* end_of_plain_text(const char* at) const;

  bool is_char(char c, const char* at) const { return at != end_ && *at == c; }
  bool starts_with(const char* at, std::string_view what) const {
    return !what.empty() &&
           std::string_view(at, static_cast<std::size_t>(end_ - at)).starts_with(what);
  }

  const KeyNode* tree_;
  RowFiller* rows_;
  const char* end_ = nullptr;
  std::string_view last_map_;  // text after the bracket of the last map; the other spelling of a
                               // key has an equal one
};

}  // namespace ctprof
