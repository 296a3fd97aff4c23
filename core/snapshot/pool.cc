#include "core/snapshot/pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <new>
#include <utility>

#include "core/base/seeded_hash.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kFirstBlockBytes = 64 * 1024;
constexpr std::size_t kHugePageBytes = 2 * 1024 * 1024;
constexpr std::size_t kAlignment = alignof(std::max_align_t);

constexpr std::size_t round_up(std::size_t size, std::size_t unit) {
  return (size + unit - 1) / unit * unit;
}

std::string_view as_bytes(std::span<const std::uint64_t> words) {
  return {reinterpret_cast<const char*>(words.data()), words.size_bytes()};
}

}  // namespace

// All blocks after the first are huge pages, which need one page fault each instead of 512. Without
// huge pages in the kernel, they are normal memory.
void Arena::grow(std::size_t min_size) {
  const std::size_t alignment = blocks_.empty() ? kAlignment : kHugePageBytes;
  const std::size_t size = round_up(min_size, blocks_.empty() ? kFirstBlockBytes : kHugePageBytes);
  blocks_.emplace_back(static_cast<std::byte*>(::operator new (size, std::align_val_t{alignment})),
                       Deleter{alignment});
  if (alignment == kHugePageBytes) madvise(blocks_.back().get(), size, MADV_HUGEPAGE);
  next_ = blocks_.back().get();
  remaining_ = size;
}

void* Arena::allocate(std::size_t size) {
  size = round_up(size, kAlignment);
  if (size > remaining_) grow(size);
  std::byte* address = next_;
  next_ += size;
  remaining_ -= size;
  bytes_ += size;
  return address;
}

std::string_view Arena::copy(std::string_view text) {
  if (text.empty()) return {};
  auto* address = static_cast<char*>(allocate(text.size()));
  std::memcpy(address, text.data(), text.size());
  return {address, text.size()};
}

TextPool::PooledText TextPool::intern_text(std::string_view text) {
  const auto hash = static_cast<std::uint32_t>(SeededHash{}(text));
  const std::lock_guard lock(mutex_);
  Bucket* bucket = &find(text, hash);
  if (bucket->next_id != 0) return {bucket->next_id - 1, texts_[bucket->next_id - 1]};
  if (2 * (texts_.size() + 1) > buckets_.size()) {
    grow();
    bucket = &find(text, hash);
  }
  texts_.push_back(arena_.copy(text));
  *bucket = {hash, static_cast<Id>(texts_.size())};
  return {bucket->next_id - 1, texts_.back()};
}

// Returns the bucket of a text, or the free one that it would use.
TextPool::Bucket& TextPool::find(std::string_view text, std::uint32_t hash) {
  for (std::size_t address = hash;; ++address) {
    Bucket& bucket = buckets_[address & (buckets_.size() - 1)];
    if (bucket.next_id == 0 || (bucket.hash == hash && texts_[bucket.next_id - 1] == text))
      return bucket;
  }
}

void TextPool::grow() {
  const std::vector<Bucket> old = std::exchange(buckets_, std::vector<Bucket>(2 * buckets_.size()));
  for (const Bucket& bucket : old)
    if (bucket.next_id != 0) find(texts_[bucket.next_id - 1], bucket.hash) = bucket;
}

void TextPool::resolve(std::span<const Id> ids, std::span<ctprof_text> out) const {
  const std::lock_guard lock(mutex_);
  std::transform(ids.begin(), ids.end(), out.begin(), [&](Id id) {
    const std::string_view text = id < texts_.size() ? texts_[id] : std::string_view{};
    return ctprof_text{text.data(), text.size()};
  });
}

Id WordsPool::intern(std::span<const std::uint64_t> words) {
  const std::lock_guard lock(mutex_);
  if (const auto known = ids_.find(as_bytes(words)); known != ids_.end()) return known->second;
  const Id id = static_cast<Id>(items_.size());
  const std::string_view kept = arena_.copy(as_bytes(words));
  items_.emplace_back(reinterpret_cast<const std::uint64_t*>(kept.data()), words.size());
  ids_.emplace(kept, id);
  return id;
}

namespace {

// Hashes the addresses of keys, because equal keys are pooled at the same address. If an attacker
// constructs maps with equal hashes, some are stored more than once, with no other cost.
std::size_t hash_of(std::span<const ctprof_entry> entries) {
  constexpr std::uint64_t kHashMultiplier = 0x9e3779b97f4a7c15;
  std::uint64_t hash = entries.size();
  for (const ctprof_entry& entry : entries)
    hash =
        std::rotl((hash ^ reinterpret_cast<std::uintptr_t>(entry.key.data)) * kHashMultiplier, 23) ^
        entry.value;
  return static_cast<std::size_t>((hash * kHashMultiplier) >> 32);
}

}  // namespace

bool are_equal(std::span<const ctprof_entry> a, std::span<const ctprof_entry> b) {
  return std::ranges::equal(a, b, [](const ctprof_entry& one, const ctprof_entry& other) {
    return one.key.data == other.key.data && one.value == other.value;
  });
}

namespace {

std::string_view key_of(const ctprof_entry& entry) { return {entry.key.data, entry.key.size}; }

}  // namespace

std::vector<ctprof_entry> sort_by_key(std::span<const ctprof_entry> entries) {
  std::vector<ctprof_entry> sorted(entries.begin(), entries.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return key_of(a) < key_of(b); });
  const auto reversed_end =
      std::unique(sorted.rbegin(), sorted.rend(),
                  [](const auto& a, const auto& b) { return key_of(a) == key_of(b); });
  sorted.erase(sorted.begin(), reversed_end.base());
  return sorted;
}

Id MapPool::append(std::span<const ctprof_entry> entries, TextPool& texts) {
  std::vector<ctprof_entry> sorted = sort_by_key(entries);
  for (ctprof_entry& entry : sorted) {
    const std::string_view kept = texts.intern_text(key_of(entry)).text;
    entry.key = {kept.data(), kept.size()};
  }
  return append_pooled(sorted);
}

Id MapPool::append_pooled(std::span<const ctprof_entry> entries) {
  const std::size_t hash = hash_of(entries);
  const std::lock_guard lock(mutex_);
  if (recent_ids_.empty()) recent_ids_.assign(kRecentSlots, kNone);
  Id& recent = recent_ids_[hash % kRecentSlots];
  if (recent != kNone && are_equal(items_[recent], entries)) return recent;
  auto* address =
      static_cast<ctprof_entry*>(arena_.allocate(entries.size() * sizeof(ctprof_entry)));
  std::copy(entries.begin(), entries.end(), address);
  items_.emplace_back(address, entries.size());
  return recent = static_cast<Id>(items_.size() - 1);
}

namespace {

void add_saturating(std::uint64_t& sum, std::uint64_t weight) {
  if (__builtin_add_overflow(sum, weight, &sum)) sum = std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

std::uint64_t total_weight(std::span<const ctprof_stack> stacks) {
  std::uint64_t total = 0;
  for (const ctprof_stack& each : stacks) add_saturating(total, each.weight);
  return total;
}

Id StackPool::append(std::span<const ctprof_stack> stacks) {
  std::vector<ctprof_stack> sorted(stacks.begin(), stacks.end());
  std::ranges::sort(sorted, {}, &ctprof_stack::stack);
  std::size_t kept = 0;
  for (const ctprof_stack& each : sorted) {
    if (kept == 0 || sorted[kept - 1].stack != each.stack)
      sorted[kept++] = each;
    else
      add_saturating(sorted[kept - 1].weight, each.weight);
  }
  const std::lock_guard lock(mutex_);
  auto* address = static_cast<ctprof_stack*>(arena_.allocate(kept * sizeof(ctprof_stack)));
  std::copy_n(sorted.begin(), kept, address);
  items_.emplace_back(address, kept);
  return static_cast<Id>(items_.size() - 1);
}

std::uint64_t StackPool::next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

void StackPool::add_set_to(const StackPool& from, Id id, std::vector<ctprof_stack>& stacks) {
  const auto set = from[id];
  const std::size_t first = stacks.size();
  stacks.insert(stacks.end(), set.begin(), set.end());
  if (&from == this || set.empty()) return;
  const auto nodes = map_nodes(from);
  for (ctprof_stack& each : std::span(stacks).subspan(first)) each.stack = nodes[each.stack];
}

// A parent precedes its children, so its number is already known.
std::span<const std::uint32_t> StackPool::map_nodes(const StackPool& other) {
  const auto& nodes = other.table.nodes();
  if (last_absorbed_ == other.unique_number_ && node_map_.size() == nodes.size()) return node_map_;
  last_absorbed_ = other.unique_number_;
  node_map_ = table.merge(other.table);
  for (std::size_t node = 0; node < nodes.size(); ++node)
    if (node_map_[node] == StackTable::kNoStack) node_map_[node] = node_map_[nodes[node].parent];
  return node_map_;
}

Id TextCache::intern(std::string_view text) {
  if (slots_.empty()) slots_.resize(kSlots);
  Slot& slot = slots_[SeededHash{}(text) % kSlots];
  if (slot.is_used && slot.text == text) return slot.id;
  const TextPool::PooledText kept = pool_->intern_text(text);
  slot = {kept.text, kept.id, true};
  return kept.id;
}

}  // namespace ctprof
