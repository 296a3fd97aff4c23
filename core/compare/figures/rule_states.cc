#include "core/compare/figures/rule_states.hpp"

#include <algorithm>

namespace ctprof {
namespace {

template <class T>
std::span<const T> copy_to_arena(std::span<const T> items, Arena& arena) {
  auto* copy = static_cast<T*>(arena.allocate(items.size_bytes()));
  std::copy(items.begin(), items.end(), copy);
  return {copy, items.size()};
}

void append(void* text, const char* data, std::size_t size) {
  static_cast<std::string*>(text)->append(data, size);
}

}  // namespace

ctprof_sink make_text_sink(std::string& text) { return {sizeof(ctprof_sink), 0, &text, append}; }

void StateContent::set_snapshot(const Snapshot& snapshot, const RunStackNumbers& nodes) {
  release_snapshot();
  nodes_ = nodes;
  pools_ = snapshot.pools.get();
  texts_.resize(pools_->texts.size());
  key_cache_.resize(kKeyCacheSize);
}

void StateContent::release_snapshot() {
  pools_ = nullptr;
  texts_ = {};
  sets_ = {};
  keys_ = {};
  key_cache_ = {};
  entries_ = {};
  nodes_ = {};
  stacks_ = {};
  frames_ = {};
}

void StateContent::share_copies_of(const StateContent& other) {
  arenas_.insert(arenas_.end(), other.arenas_.begin(), other.arenas_.end());
}

void StateContent::set_accessors(ctprof_rows& rows, bool for_plugin) {
  rows.core = for_plugin ? &plugins_ : &built_in_;
  rows.text = text_of;
  rows.bits = bits_of;
  rows.map = map_of;
  rows.stacks = stacks_of;
  rows.frames = frames_of;
}

std::string_view StateContent::text(Id id) {
  ctprof_text& copied_text = texts_[id];
  if (!copied_text.data) {
    const std::string_view text = copy(pools_->texts[id]);
    copied_text = {text.empty() ? "" : text.data(), text.size()};
  }
  return {copied_text.data, copied_text.size};
}

ctprof_text StateContent::text_of(const void* core, std::uint32_t id) {
  const std::string_view text = static_cast<const RowsContext*>(core)->content->text(id);
  return {text.data(), text.size()};
}

const std::uint64_t* StateContent::bits_of(const void* core, std::uint32_t id, std::size_t* words) {
  StateContent& content = *static_cast<const RowsContext*>(core)->content;
  const auto [place, is_new] = content.sets_.try_emplace(id);
  if (is_new) place->second = copy_to_arena(content.pools_->words[id], content.arena());
  *words = place->second.size();
  return place->second.data();
}

const char* StateContent::copy_key(ctprof_text key) {
  CopiedKey& cached =
      key_cache_[reinterpret_cast<std::uintptr_t>(key.data) / sizeof(void*) % kKeyCacheSize];
  if (cached.from == key.data) return cached.copy;
  const auto [place, is_new] = keys_.try_emplace(key.data);
  if (is_new) place->second = copy({key.data, key.size}).data();
  cached = {key.data, place->second};
  return cached.copy;
}

const ctprof_entry* StateContent::map_of(const void* core, std::uint32_t id, std::size_t* entries) {
  const RowsContext& view = *static_cast<const RowsContext*>(core);
  StateContent& content = *view.content;
  const auto map = content.pools_->maps[id];
  content.entries_.assign(map.begin(), map.end());
  for (ctprof_entry& entry : content.entries_)
    if (entry.key.size > 0) entry.key.data = content.copy_key(entry.key);
  *entries = map.size();
  if (!view.for_plugin) return content.entries_.data();
  return copy_to_arena(std::span<const ctprof_entry>(content.entries_), content.arena()).data();
}

// Several stacks of the run can map to one common stack; sorting makes them adjacent.
const ctprof_stack* StateContent::stacks_of(const void* core, std::uint32_t id,
                                            std::size_t* stacks) {
  const RowsContext& view = *static_cast<const RowsContext*>(core);
  StateContent& content = *view.content;
  const auto run_stacks = content.pools_->stacks[id];
  content.stacks_.assign(run_stacks.begin(), run_stacks.end());
  for (ctprof_stack& each : content.stacks_) each.stack = content.nodes_.numbers[each.stack];
  std::ranges::sort(content.stacks_, {}, &ctprof_stack::stack);
  *stacks = run_stacks.size();
  if (!view.for_plugin) return content.stacks_.data();
  return copy_to_arena(std::span<const ctprof_stack>(content.stacks_), content.arena()).data();
}

const std::uint32_t* StateContent::frames_of(const void* core, std::uint64_t stack,
                                             std::size_t* frames) {
  StateContent& content = *static_cast<const RowsContext*>(core)->content;
  const CommonStacks& common = *content.nodes_.common;
  *frames = 0;
  if (stack >= common.size()) return nullptr;
  const auto [place, is_new] = content.frames_.try_emplace(stack);
  if (is_new) {
    const auto number = static_cast<std::uint32_t>(stack);
    const auto functions = common.functions_of(number, common.depth(number));
    place->second = copy_to_arena(std::span<const std::uint32_t>(functions), content.arena());
  }
  *frames = place->second.size();
  return place->second.data();
}

}  // namespace ctprof
