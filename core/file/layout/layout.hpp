// The layout of a rows file: which key holds which metric, according to the definitions.
//
// A key path is written "threads[].nice", "cgroup_stats[].cpu.weight" or, for the host,
// "psi.cpu.some.avg10": a table, then keys separated by dots. All key paths of a table form a tree
// with numbered leaves. The writer assigns columns to the leaves, the reader assigns the slots that
// it fills, so both agree on the place of every value.
//
// Contents: key paths, and the three trees.
//
// See also: sections.hpp for the file's own keys; row_writer.hpp and row_filler.hpp for the leaves.

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

// The object in which a tree starts. Process metrics are in the row of the process's leader.
enum class TreeRoot { Thread, Cgroup, Host, None };
inline constexpr std::size_t kRoots = 3;
constexpr TreeRoot root_of(Entity entity) {
  return entity == Entity::Cgroup ? TreeRoot::Cgroup
         : entity == Entity::Host ? TreeRoot::Host
                                  : TreeRoot::Thread;
}

// Keys from the root to a leaf. A metric that is not in the file has TreeRoot::None.
struct KeyPath {
  TreeRoot root = TreeRoot::None;
  std::vector<std::string> keys;
};
KeyPath key_path_of(const MetricDef& def);
// Returns the key paths with the alternative spellings of a metric's last key.
std::vector<KeyPath> aliases_of(const MetricDef& def);
// Converts a key path to the text of a definition's file_path, and back.
std::string format_key_path(const KeyPath& key_path);
KeyPath parse_key_path(std::string_view text);

// Returns whether a character is a single byte that JSON does not escape.
constexpr bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

// A node of the tree: an object, or a leaf.
struct KeyNode {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr std::size_t kHeadBytes = 32;

  KeyNode() = default;
  explicit KeyNode(std::string name, std::size_t number = kNone);

  std::string key;
  std::size_t leaf = kNone;
  // Predictions of the reader, which come from the previous row: the first child, and the sibling
  // that follows this node.
  KeyNode* predicted_child = nullptr;
  KeyNode* predicted_sibling = nullptr;
  std::array<char, kHeadBytes> head{};  // first bytes of the spelling, padded with zeros
  std::string spelling;                 // the key, and the characters between it and its value
  bool is_plain = false;                // JSON spells the key without escapes
  std::vector<KeyNode> children;        // children of an object, in file order

  bool is_leaf() const { return leaf != kNone; }
  // Returns the child of that name; adds it if it does not exist.
  KeyNode& child(const std::string& name);
  // Returns whether the key equals `name`.
  bool has_key(std::string_view name) const {
    return key.size() == name.size() && spelling_begins_with(name.data(), name.size());
  }
  // Returns whether the text equals the key's spelling. REQUIRES: `text` has at least its length.
  bool matches_spelling(const char* text) const {
    return is_plain && spelling_begins_with(text, spelling.size());
  }
  KeyNode* find(std::string_view name);
  const KeyNode* find(std::string_view name) const;

 private:
  // With more children than this, find() uses the index.
  static constexpr std::size_t kMaxWithoutIndex = 16;
  // Position of a key among the children.
  using Index = std::map<std::string, std::size_t, std::less<>>;

  std::unique_ptr<Index> index_;
  // Returns whether the spelling begins with `text`. Avoids a call of memcmp and a second memory
  // access, which cost more than the comparison of a short name.
  bool spelling_begins_with(const char* text, std::size_t size) const;
};

inline bool KeyNode::spelling_begins_with(const char* text, std::size_t size) const {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const auto word = [](const char* bytes) {
    std::uint64_t value;
    std::memcpy(&value, bytes, kWord);
    return value;
  };
  if (size < kWord || size > kHeadBytes) return std::memcmp(spelling.data(), text, size) == 0;
  for (std::size_t at = 0; at + kWord < size; at += kWord)
    if (word(head.data() + at) != word(text + at)) return false;
  return word(head.data() + size - kWord) == word(text + size - kWord);
}

// The trees of a file.
class Layout {
 public:
  Layout() = default;

  const KeyNode& tree(TreeRoot root) const { return trees_[static_cast<std::size_t>(root)]; }
  KeyNode& tree(TreeRoot root) { return trees_[static_cast<std::size_t>(root)]; }
  // Returns the number of leaves; aliases share a number.
  std::size_t leaf_count(TreeRoot root) const {
    return leaf_counts_[static_cast<std::size_t>(root)];
  }

  // Adds a leaf. Returns its number in its tree, or kNone if the key path is empty or already used.
  std::size_t add(const KeyPath& key_path);
  // Adds another key path for the leaf, if that is unused.
  void add_alias(const KeyPath& key_path, std::size_t leaf);

 private:
  std::array<KeyNode, kRoots> trees_;
  std::array<std::size_t, kRoots> leaf_counts_{};
};

// The keys of the tables.
inline constexpr std::string_view kThreadsKey = "threads";
inline constexpr std::string_view kCgroupsKey = "cgroup_stats";
// Returns whether a top-level key has a fixed meaning and is not available to metrics: the keys of
// the tables and of the sections (sections.hpp).
bool is_reserved(std::string_view top_level_key);

// Converts between a list of keys and one text. Dots separate the keys. Within a key, a dot or
// backslash has a backslash before it. An empty key is "\0", and an empty list is an empty text.
std::vector<std::string> split_path(std::string_view path);
void append_to_path(std::string& path, std::string_view key);
// Returns the normal form of a path, as append_to_path() spells it.
std::string normal_path(std::string_view path);
// Returns how deep the value of a kept key may be nested so that a rows file can hold it; 0 if
// the path itself is too long.
std::size_t allowed_depth_below(std::string_view path, TreeRoot root);

}  // namespace ctprof
