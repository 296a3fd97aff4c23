// The layout of a file: which key holds which metric, as it comes out of the definitions.
//
// A place is written "threads[].nice", "cgroup_stats[].cpu.weight" or, for the host,
// "psi.cpu.some.avg10": a table, and then keys with dots between. All places of a table make a tree
// of keys, whose leaves are numbered. The writer hangs columns to the leaves, the reader what it
// fills; so both agree on where things are.
//
// What is here:   places, the three trees.
// What is not:    the file's own keys (sections.hpp), what stands at a leaf (row_writer.hpp,
// row_filler.hpp).

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry/metric_def.hpp"

namespace ctprof {

// Where a tree is rooted. Process metrics stand in the row of the process's leader.
enum class Root { Thread, Cgroup, Host, None };
inline constexpr std::size_t kRoots = 3;
constexpr Root root_of(Entity entity) {
  return entity == Entity::Cgroup ? Root::Cgroup
         : entity == Entity::Host ? Root::Host
                                  : Root::Thread;
}

// Keys from the root down. A metric without a place in the file has Root::None.
struct Place {
  Root root = Root::None;
  std::vector<std::string> keys;
};
Place place_of(const MetricDef& def);
// The places that the other spellings of a metric's last key give it.
std::vector<Place> aliases_of(const MetricDef& def);
// The place as a definition would write it, and back.
std::string place_text(const Place& place);
Place parse_place(std::string_view text);

// Whether a byte of a text is all there is of its character, in JSON too.
constexpr bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

// An object, or a leaf.
struct KeyNode {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr std::size_t kHead = 32;

  KeyNode() = default;
  explicit KeyNode(std::string name, std::size_t number = kNone);

  std::string key;
  std::size_t leaf = kNone;
  // The reader's guesses, taken from the row before: the child that comes first, and the sibling
  // that comes after this.
  KeyNode* first = nullptr;
  KeyNode* follower = nullptr;
  std::array<char, kHead> head{};  // of the spelling, zero beyond it
  std::string spelling;            // the key, and what stands between it and its value
  bool is_plain = false;           // in JSON the key is spelled as it is
  std::vector<KeyNode> children;   // of an object, in the order of the file

  bool is_leaf() const { return leaf != kNone; }
  // The child of that name; a new one where there is none.
  KeyNode& child(const std::string& name);
  // Whether the key is `name`.
  bool is(std::string_view name) const {
    return key.size() == name.size() && has(name.data(), name.size());
  }
  // Whether the text is the key's spelling. REQUIRES: as long as that.
  bool is_spelled(const char* text) const { return is_plain && has(text, spelling.size()); }
  KeyNode* find(std::string_view name);
  const KeyNode* find(std::string_view name) const;

 private:
  // More children than these are looked up in the index.
  static constexpr std::size_t kFew = 16;
  using Index =
      std::map<std::string, std::size_t, std::less<>>;  // a key's place among the children

  std::unique_ptr<Index> index_;
  // Whether the spelling begins so; a million short names are not worth as many calls and looks
  // elsewhere.
  bool has(const char* text, std::size_t size) const;
};

inline bool KeyNode::has(const char* text, std::size_t size) const {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const auto word = [](const char* bytes) {
    std::uint64_t value;
    std::memcpy(&value, bytes, kWord);
    return value;
  };
  if (size < kWord || size > kHead) return std::memcmp(spelling.data(), text, size) == 0;
  for (std::size_t at = 0; at + kWord < size; at += kWord)
    if (word(head.data() + at) != word(text + at)) return false;
  return word(head.data() + size - kWord) == word(text + size - kWord);
}

class Layout {
 public:
  Layout() = default;

  const KeyNode& tree(Root root) const { return trees_[static_cast<std::size_t>(root)]; }
  KeyNode& tree(Root root) { return trees_[static_cast<std::size_t>(root)]; }
  // How many leaves the tree has been given; aliases share a number.
  std::size_t leaves(Root root) const { return leaves_[static_cast<std::size_t>(root)]; }

  // Makes a leaf. Returns its number in its tree, or kNone when there is no place or something else
  // has it.
  std::size_t add(const Place& place);
  // Another place for the same leaf, if it is free.
  void add_alias(const Place& place, std::size_t leaf);

 private:
  std::array<KeyNode, kRoots> trees_;
  std::array<std::size_t, kRoots> leaves_{};
};

// The keys of the tables.
inline constexpr std::string_view kThreadsKey = "threads";
inline constexpr std::string_view kCgroupsKey = "cgroup_stats";
// Top-level keys that mean the same in every file, and that no metric can have: those, and the
// sections' (sections.hpp).
bool is_reserved(std::string_view top_level_key);

// A path of keys as one text, dots between; a dot or backslash of a key's own has a backslash
// before it, and an empty key is "\0". No keys at all are an empty text.
std::vector<std::string> split_path(std::string_view path);
void append_to_path(std::string& path, std::string_view key);
// The one spelling that append_to_path gives a path.
std::string normal_path(std::string_view path);
// How many objects and arrays the value of a kept key may have inside each other, so that a file of
// rows can hold it; 0 also where the path itself is too long.
std::size_t depth_below(std::string_view path, Root root);

}  // namespace ctprof
