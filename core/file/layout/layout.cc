#include "core/file/layout/layout.hpp"

#include <algorithm>

#include "core/base/text.hpp"
#include "core/file/layout/limits.hpp"
#include "core/file/layout/sections.hpp"

namespace ctprof {
namespace {

constexpr std::string_view kThreads = "threads[].";
constexpr std::string_view kCgroups = "cgroup_stats[].";

constexpr std::string_view table_prefix(TreeRoot root) {
  return root == TreeRoot::Thread ? kThreads : root == TreeRoot::Cgroup ? kCgroups : "";
}

bool is_valid_path(const std::vector<std::string>& keys) {
  return !keys.empty() && keys.size() <= limits::kPathKeys &&
         std::none_of(keys.begin(), keys.end(), [](const std::string& key) { return key.empty(); });
}

// Returns whether a leaf can be added at `keys`: the path is unused, and no leaf is on the way to
// it.
bool is_unused_path(const KeyNode& tree, const std::vector<std::string>& keys) {
  const KeyNode* node = &tree;
  for (const std::string& key : keys) {
    node = node->find(key);
    if (!node) return true;
    if (node->is_leaf()) return false;
  }
  return false;
}

void add_leaf(KeyNode& tree, const std::vector<std::string>& keys, std::size_t leaf) {
  KeyNode* node = &tree;
  for (const std::string& key : keys) node = &node->child(key);
  node->leaf = leaf;
}

}  // namespace

KeyPath parse_key_path(std::string_view text) {
  const TreeRoot root = text.starts_with(kThreads)   ? TreeRoot::Thread
                        : text.starts_with(kCgroups) ? TreeRoot::Cgroup
                                                     : TreeRoot::Host;
  std::vector<std::string> keys = split_path(text.substr(table_prefix(root).size()));
  if (!is_valid_path(keys) || (root == TreeRoot::Host && is_reserved(keys[0]))) return {};
  return {root, std::move(keys)};
}

std::string format_key_path(const KeyPath& key_path) {
  std::string path;
  for (const std::string& key : key_path.keys) append_to_path(path, key);
  return std::string(table_prefix(key_path.root)) + path;
}

KeyPath key_path_of(const MetricDef& def) {
  if (def.file_path == "none" || def.is_hidden) return {};
  if (def.storage == Storage::Stacks) return {};
  KeyPath place = parse_key_path(def.file_path);
  return place.root == root_of(def.entity) ? place : KeyPath{};
}

std::vector<KeyPath> aliases_of(const MetricDef& def) {
  std::vector<KeyPath> places;
  KeyPath place = key_path_of(def);
  if (place.root == TreeRoot::None) return places;
  for (const std::string_view spelling : split(def.file_aliases)) {
    place.keys.back() = spelling;
    if (is_valid_path(place.keys)) places.push_back(place);
  }
  return places;
}

KeyNode::KeyNode(std::string name, std::size_t number)
    : key(std::move(name)), leaf(number), spelling(key + "\":") {
  is_plain = std::all_of(key.begin(), key.end(), [](char c) { return ctprof::is_plain(c); });
  std::copy_n(spelling.begin(), std::min(spelling.size(), head.size()), head.begin());
}

KeyNode& KeyNode::child(const std::string& name) {
  if (KeyNode* known = find(name)) return *known;
  children.emplace_back(name);
  if (children.size() > kMaxWithoutIndex && !index_) {
    index_ = std::make_unique<Index>();
    for (std::size_t i = 0; i + 1 < children.size(); ++i) index_->emplace(children[i].key, i);
  }
  if (index_) index_->emplace(name, children.size() - 1);
  return children.back();
}

KeyNode* KeyNode::find(std::string_view name) {
  if (index_) {
    const auto known = index_->find(name);
    return known == index_->end() ? nullptr : &children[known->second];
  }
  const auto it = std::find_if(children.begin(), children.end(),
                               [&](const KeyNode& child) { return child.key == name; });
  return it == children.end() ? nullptr : &*it;
}
const KeyNode* KeyNode::find(std::string_view name) const {
  return const_cast<KeyNode*>(this)->find(name);
}

std::size_t Layout::add(const KeyPath& key_path) {
  if (key_path.root == TreeRoot::None || !is_unused_path(tree(key_path.root), key_path.keys))
    return KeyNode::kNone;
  const std::size_t leaf = leaf_counts_[static_cast<std::size_t>(key_path.root)]++;
  add_leaf(tree(key_path.root), key_path.keys, leaf);
  return leaf;
}

void Layout::add_alias(const KeyPath& key_path, std::size_t leaf) {
  if (is_unused_path(tree(key_path.root), key_path.keys))
    add_leaf(tree(key_path.root), key_path.keys, leaf);
}

bool is_reserved(std::string_view top_level_key) {
  return top_level_key == kThreadsKey || top_level_key == kCgroupsKey ||
         find_file_section(top_level_key);
}

constexpr char kEmptyKey = '0';  // spelled after a backslash

std::vector<std::string> split_path(std::string_view path) {
  if (path.empty()) return {};
  std::vector<std::string> keys(1);
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool is_escape = path[i] == '\\' && i + 1 < path.size();
    if (path[i] == '.')
      keys.emplace_back();
    else if (!is_escape)
      keys.back() += path[i];
    else if (path[++i] != kEmptyKey)
      keys.back() += path[i];
  }
  return keys;
}

std::string normal_path(std::string_view path) {
  std::string normal;
  for (const std::string& key : split_path(path)) append_to_path(normal, key);
  return normal;
}

std::size_t allowed_depth_below(std::string_view path, TreeRoot root) {
  // The file's object, and its list of rows.
  const std::size_t above_row = root == TreeRoot::Host ? 0 : 2;
  const std::size_t keys = split_path(path).size();
  return keys > limits::kPathKeys ? 0 : limits::kDepth - above_row - keys;
}

void append_to_path(std::string& path, std::string_view key) {
  if (!path.empty()) path += '.';
  if (key.empty()) path += {'\\', kEmptyKey};
  for (const char c : key) {
    if (c == '.' || c == '\\') path += '\\';
    path += c;
  }
}

}  // namespace ctprof
