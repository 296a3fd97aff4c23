#include "core/compare/figures/rule_states.hpp"

#include <algorithm>

namespace ctprof {
namespace {

template <class T>
std::span<const T> copy_of(std::span<const T> items, Arena& arena) {
  auto* copy = static_cast<T*>(arena.take(items.size_bytes()));
  std::copy(items.begin(), items.end(), copy);
  return {copy, items.size()};
}

void append(void* text, const char* data, std::size_t size) {
  static_cast<std::string*>(text)->append(data, size);
}

}  // namespace

ctprof_sink sink_into(std::string& text) { return {sizeof(ctprof_sink), 0, &text, append}; }

void KeptContent::show(const Snapshot& snapshot, const RunNodes& nodes) {
  let_go();
  nodes_ = nodes;
  pools_ = snapshot.pools.get();
  texts_.resize(pools_->texts.size());
  near_keys_.resize(kKeys);
}

void KeptContent::let_go() {
  pools_ = nullptr;
  texts_ = {};
  sets_ = {};
  keys_ = {};
  near_keys_ = {};
  entries_ = {};
  nodes_ = {};
  stacks_ = {};
  frames_ = {};
}

void KeptContent::join(const KeptContent& other) {
  arenas_.insert(arenas_.end(), other.arenas_.begin(), other.arenas_.end());
}

void KeptContent::fill(ctprof_rows& rows, bool for_plugin) {
  rows.core = for_plugin ? &plugins_ : &built_in_;
  rows.text = text_of;
  rows.bits = bits_of;
  rows.map = map_of;
  rows.stacks = stacks_of;
  rows.frames = frames_of;
}

std::string_view KeptContent::text(Id id) {
  ctprof_text& known = texts_[id];
  if (!known.data) {
    const std::string_view text = copy(pools_->texts[id]);
    known = {text.empty() ? "" : text.data(), text.size()};
  }
  return {known.data, known.size};
}

ctprof_text KeptContent::text_of(const void* core, std::uint32_t id) {
  const std::string_view text = static_cast<const View*>(core)->kept->text(id);
  return {text.data(), text.size()};
}

const std::uint64_t* KeptContent::bits_of(const void* core, std::uint32_t id, std::size_t* words) {
  KeptContent& kept = *static_cast<const View*>(core)->kept;
  const auto [place, is_new] = kept.sets_.try_emplace(id);
  if (is_new) place->second = copy_of(kept.pools_->words[id], kept.arena());
  *words = place->second.size();
  return place->second.data();
}

const char* KeptContent::kept_key(ctprof_text key) {
  Key& near = near_keys_[reinterpret_cast<std::uintptr_t>(key.data) / sizeof(void*) % kKeys];
  if (near.from == key.data) return near.copy;
  const auto [place, is_new] = keys_.try_emplace(key.data);
  if (is_new) place->second = copy({key.data, key.size}).data();
  near = {key.data, place->second};
  return near.copy;
}

const ctprof_entry* KeptContent::map_of(const void* core, std::uint32_t id, std::size_t* entries) {
  const View& view = *static_cast<const View*>(core);
  KeptContent& kept = *view.kept;
  const auto map = kept.pools_->maps[id];
  kept.entries_.assign(map.begin(), map.end());
  for (ctprof_entry& entry : kept.entries_)
    if (entry.key.size > 0) entry.key.data = kept.kept_key(entry.key);
  *entries = map.size();
  if (!view.for_plugin) return kept.entries_.data();
  return copy_of(std::span<const ctprof_entry>(kept.entries_), kept.arena()).data();
}

// Several stacks of the run can map to one stack of the book; sorting makes them adjacent.
const ctprof_stack* KeptContent::stacks_of(const void* core, std::uint32_t id,
                                           std::size_t* stacks) {
  const View& view = *static_cast<const View*>(core);
  KeptContent& kept = *view.kept;
  const auto given = kept.pools_->stacks[id];
  kept.stacks_.assign(given.begin(), given.end());
  for (ctprof_stack& each : kept.stacks_) each.stack = kept.nodes_.numbers[each.stack];
  std::ranges::sort(kept.stacks_, {}, &ctprof_stack::stack);
  *stacks = given.size();
  if (!view.for_plugin) return kept.stacks_.data();
  return copy_of(std::span<const ctprof_stack>(kept.stacks_), kept.arena()).data();
}

const std::uint32_t* KeptContent::frames_of(const void* core, std::uint64_t stack,
                                            std::size_t* frames) {
  KeptContent& kept = *static_cast<const View*>(core)->kept;
  const StackBook& book = *kept.nodes_.book;
  *frames = 0;
  if (stack >= book.size()) return nullptr;
  const auto [place, is_new] = kept.frames_.try_emplace(stack);
  if (is_new) {
    const auto number = static_cast<std::uint32_t>(stack);
    const auto functions = book.functions_of(number, book.depth(number));
    place->second = copy_of(std::span<const std::uint32_t>(functions), kept.arena());
  }
  *frames = place->second.size();
  return place->second.data();
}

}  // namespace ctprof
