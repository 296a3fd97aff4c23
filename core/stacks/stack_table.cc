#include "core/stacks/stack_table.hpp"

#include <algorithm>

namespace ctprof {
namespace {

// A node needs at most 40 bytes with its index entry: 160 MB of stacks; a busy host has 100,000
// nodes.
constexpr std::size_t kMaxNodes = 4 << 20;
constexpr std::size_t kMaxFrames = 1 << 20;

// Limit on modules with the same path or process that are distinguished by names of functions.
constexpr unsigned kMaxSameModules = 64;

// Returns a hash that is the same in every run and not zero (FNV-1a).
std::uint64_t hash_text(std::string_view text) {
  std::uint32_t hash = 2166136261;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 16777619;
  return hash | 1;
}

// Returns the key of a module; equal modules have equal keys.
std::string make_key(const Module& module) {
  std::string key = std::to_string(static_cast<int>(module.kind)) + ' ' +
                    std::to_string(module.process) + ' ' + std::to_string(module.path.size());
  return key + ' ' + module.path + module.build_id;
}

std::uint64_t hash_frame(const Frame& frame) {
  return SeededHash()(frame.offset ^ SeededHash()(std::uint64_t{frame.module} << 32 |
                                                  std::uint64_t{frame.inline_depth} << 1 |
                                                  std::uint64_t{frame.is_guessed}));
}

}  // namespace

StackTable::StackTable() : frames_(1), nodes_(1), names_(1), name_by_frame_(1) {
  set_name(kTruncated, "[truncated]");
}

std::uint32_t StackTable::add_module(const Module& module) {
  const auto next = static_cast<std::uint32_t>(modules_.size());
  const auto [known, is_new] = module_numbers_.emplace(make_key(module), next);
  if (is_new) modules_.push_back(module);
  return known->second;
}

std::uint32_t StackTable::add_stack(std::span<const Frame> frames, WalkEnd ending) {
  std::uint32_t node = ending == WalkEnd::Root ? kTop : add_node(kTop, kTruncated);
  for (auto frame = frames.rbegin(); frame != frames.rend() && node != kNoStack; ++frame)
    node = add_node(node, add_frame(*frame));
  return node;
}

// Returns kNoStack if the table does not have the frame.
std::uint32_t StackTable::find_frame(const Frame& frame) const {
  static_assert(NumberIndex::kNone == kNoStack);
  return frame_numbers_.find(hash_frame(frame),
                             [&](std::uint32_t number) { return frames_[number] == frame; });
}

std::uint32_t StackTable::add_frame(const Frame& frame) {
  if (const std::uint32_t found = find_frame(frame); found != kNoStack) return found;
  if (frames_.size() == kMaxFrames) return kNoStack;
  const auto number = static_cast<std::uint32_t>(frames_.size());
  frame_numbers_.add(hash_frame(frame), number);
  frames_.push_back(frame);
  name_by_frame_.push_back(0);
  return number;
}

std::uint32_t StackTable::add_node(std::uint32_t parent, std::uint32_t frame) {
  if (parent == kNoStack || frame == kNoStack) return kNoStack;
  const std::uint64_t hash = SeededHash()(std::uint64_t{parent} << 32 | frame);
  const std::uint32_t found = node_numbers_.find(hash, [&](std::uint32_t number) {
    return nodes_[number].parent == parent && nodes_[number].frame == frame;
  });
  if (found != NumberIndex::kNone) return found;
  if (nodes_.size() == kMaxNodes) return kNoStack;
  const auto number = static_cast<std::uint32_t>(nodes_.size());
  node_numbers_.add(hash, number);
  nodes_.push_back({parent, frame});
  return number;
}

std::vector<std::uint32_t> StackTable::merge(const StackTable& other) {
  return merge(other, {{}, std::vector<std::vector<std::uint32_t>>(other.frames_.size())});
}

// A node comes after its parent in every table, so one pass translates all. Frame n becomes frames
// first[n] to first[n + 1].
std::vector<std::uint32_t> StackTable::merge(const StackTable& other,
                                             const InlinedFunctions& inlined) {
  std::vector<std::uint32_t> frames{kTruncated}, first{0}, nodes{kTop};
  const std::vector<std::uint32_t> modules = merge_modules(other);
  for (std::uint32_t number = 1; number < other.frames_.size(); ++number) {
    first.push_back(static_cast<std::uint32_t>(frames.size()));
    Frame frame = other.frames_[number];
    frame.module = modules[frame.module];
    frames.push_back(add_named_frame(frame, other.get_name(number)));
    for (const std::uint32_t name : inlined.chains[number]) {
      ++frame.inline_depth;
      frames.push_back(add_named_frame(frame, inlined.names[name]));
    }
  }
  first.push_back(static_cast<std::uint32_t>(frames.size()));
  for (std::uint32_t number = 1; number < other.nodes_.size(); ++number) {
    const Node& old = other.nodes_[number];
    std::uint32_t node = nodes[old.parent];
    for (std::uint32_t i = first[old.frame]; i < first[old.frame + 1]; ++i)
      node = add_node(node, frames[i]);
    nodes.push_back(node);
  }
  return nodes;
}

// Two files may have the same path and no build id, and generated code may be replaced. If a
// function has different names in the two tables, their modules are treated as different.
std::vector<std::uint32_t> StackTable::merge_modules(const StackTable& other) {
  std::vector<std::uint32_t> modules;
  std::vector<std::vector<std::uint32_t>> frames(other.modules_.size());
  for (std::uint32_t frame = 1; frame < other.frames_.size(); ++frame)
    frames[other.frames_[frame].module].push_back(frame);
  for (std::uint32_t number = 0; number < other.modules_.size(); ++number) {
    Module module = other.modules_[number];
    std::uint32_t merged = add_module(module);
    for (unsigned attempt = 0; module.build_id.empty() && attempt < kMaxSameModules; ++attempt) {
      const std::string* name = find_conflicting_name(other, frames[number], merged);
      if (!name) break;
      module.process = other.modules_[number].process | hash_text(*name) << 32;
      merged = add_module(module);
    }
    modules.push_back(merged);
  }
  return modules;
}

// Returns the name of the first frame in the other table that has a different name in this table.
const std::string* StackTable::find_conflicting_name(const StackTable& other,
                                                     const std::vector<std::uint32_t>& frames,
                                                     std::uint32_t module) const {
  for (const std::uint32_t number : frames) {
    Frame frame = other.frames_[number];
    frame.module = module;
    const std::uint32_t known = find_frame(frame);
    const std::string& other_name = other.get_name(number);
    if (known == kNoStack || other_name.empty() || get_name(known).empty()) continue;
    if (get_name(known) != other_name) return &other_name;
  }
  return nullptr;
}

std::uint32_t StackTable::add_named_frame(const Frame& frame, const std::string& name) {
  const std::uint32_t number = add_frame(frame);
  if (number != kNoStack) set_name_if_missing(number, name);
  return number;
}

void StackTable::set_name_if_missing(std::uint32_t frame, const std::string& name) {
  if (name_by_frame_[frame] == 0 && !name.empty()) set_name(frame, name);
}

void StackTable::set_name(std::uint32_t frame, std::string_view name) {
  const auto next = static_cast<std::uint32_t>(names_.size());
  const auto [known, is_new] = name_numbers_.emplace(name, next);
  if (is_new) names_.emplace_back(name);
  name_by_frame_[frame] = known->second;
}

std::vector<std::uint32_t> StackTable::get_stack_frames(std::uint32_t node) const {
  std::vector<std::uint32_t> frames;
  for (; node != kTop; node = nodes_[node].parent) frames.push_back(nodes_[node].frame);
  return frames;
}

}  // namespace ctprof
