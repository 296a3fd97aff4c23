// A short way for rows of threads that are spelled as this program spells them: no blanks, no
// escapes, only whole numbers, and keys in the order of a row before.
//
// It takes what it is sure of. At anything else, an error above all, it gives the row up and leaves
// no trace of it: the parser gets the row from its start, and says what is wrong with it if
// anything is. So there is one set of rules for what a file may hold, and this is none of them.
//
// What is here:   whole rows straight into cells.
// What is not:    when a row may come (events.hpp, read_pass.cc), the cell itself (row_filler.hpp).

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

  // Reads the rows that `text` begins with, each with the comma behind it. Returns how many bytes
  // those are; what stands there is for the parser. REQUIRES: a row must come next, as it must
  // behind a comma; the text is a slice at most.
  std::size_t read(std::string_view text);

 private:
  // Each returns where what it read ends, or null where that is not what it should be. The inline
  // ones are for row_reader.cc alone.
  const char* row(const char* at);
  const char* members(const char* at);
  inline const char* key(const char* at, const KeyNode& node) const;
  const char* value(const char* at, Slot& slot);
  inline const char* number(const char* at, Slot& slot);
  const char* negative(const char* at, Slot& slot);
  const char* text(const char* at, Slot& slot);
  const char* word(const char* at, Slot& slot);
  const char* items(const char* at, Slot& slot);
  const char* map(const char* at, Slot& slot);
  const char* entry(const char* at, bool is_kept);
  inline const char* digits(const char* at, std::uint64_t& value) const;
  inline const char* plain(const char* at) const;

  bool is(char c, const char* at) const { return at != end_ && *at == c; }
  bool begins(const char* at, std::string_view what) const {
    return !what.empty() &&
           std::string_view(at, static_cast<std::size_t>(end_ - at)).starts_with(what);
  }

  const KeyNode* tree_;
  RowFiller* rows_;
  const char* end_ = nullptr;
  std::string_view last_map_;  // behind its bracket; the other spelling of a key has the same
};

}  // namespace ctprof
