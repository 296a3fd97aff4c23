#include "core/snapshot/column.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace ctprof {
namespace {

std::size_t width_of(Storage storage) {
  if (storage == Storage::Bool) return 1;
  return is_pooled(storage) ? sizeof(Id) : sizeof(std::uint64_t);
}

void copy_runs(std::byte* to, const std::byte* from, std::span<const RowRange> rows,
               std::size_t width) {
  for (const RowRange& run : rows) {
    to = std::copy_n(from + run.first * width, run.count * width, to);
  }
}

// Larger arrays are allocated with mmap. For smaller ones, zeroed memory of the allocator is
// cheaper than a system call.
constexpr std::size_t kMapThreshold = 1024 * 1024;
// A mapping of this size contains an aligned huge page of 2 MiB, wherever it begins.
constexpr std::size_t kHugePageThreshold = 4 * 1024 * 1024;
constexpr std::size_t kCacheLine = 64;

std::byte* map_zeroed(std::size_t size) {
  void* const bytes =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(bytes);
}

std::byte* allocate_zeroed(std::size_t size) {
  if (size >= kMapThreshold) return map_zeroed(size);
  void* const bytes = std::calloc(size, 1);
  if (!bytes) throw std::bad_alloc();
  return static_cast<std::byte*>(bytes);
}

std::size_t round_up_to_cache_line(std::size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// Counts in a byte for up to 255 cells, so that the compiler can compare a vector register of cells
// at a time.
std::size_t count_kind(std::span<const ctprof_gap> gaps, ctprof_gap kind) {
  constexpr std::size_t kMaxRun = 255;
  std::size_t found = 0;
  while (!gaps.empty()) {
    const auto run = gaps.first(std::min(kMaxRun, gaps.size()));
    std::uint8_t in_run = 0;
    for (const ctprof_gap gap : run) in_run = static_cast<std::uint8_t>(in_run + (gap == kind));
    found += in_run;
    gaps = gaps.subspan(run.size());
  }
  return found;
}

}  // namespace

// Counts one kind after the other, because most columns contain few kinds.
void count_gaps(std::span<const ctprof_gap> gaps, GapCounts& counts) {
  std::size_t remaining = gaps.size();
  for (std::size_t kind = 0; kind < counts.size() && remaining > 0; ++kind) {
    const std::size_t found = count_kind(gaps, static_cast<ctprof_gap>(kind));
    counts[kind] += found;
    remaining -= found;
  }
}

std::vector<RowRange> find_row_ranges(std::span<const std::uint32_t> rows) {
  std::vector<RowRange> runs;
  for (const std::uint32_t row : rows) {
    if (runs.empty() || runs.back().first + runs.back().count != row) runs.push_back({row, 0});
    ++runs.back().count;
  }
  return runs;
}

Column::Column(SharedMetric def, std::size_t rows, Gap initial)
    : def_(std::move(def)), width_(width_of(def_->storage)) {
  resize(rows, initial);
}

void Column::resize(std::size_t rows, Gap gap) {
  const std::size_t before = gaps_.size();
  values_.resize(rows * width_);
  gaps_.resize(rows);
  if (rows > before) std::ranges::fill(gaps().subspan(before), static_cast<ctprof_gap>(gap));
}

// Reserves at least enough to use mmap, and writes to no page before its rows are written. Pages
// that were written before a fork() would be copied at the next write.
void Column::reserve(std::size_t rows) {
  values_.reserve(std::max(rows * width_, kMapThreshold));
  gaps_.reserve(rows);
}

void Column::move_rows(std::size_t to, std::size_t from, std::size_t count) {
  std::memmove(values_.data() + to * width_, values_.data() + from * width_, count * width_);
  std::memmove(gaps_.data() + to, gaps_.data() + from, count);
}

void Column::copy_from(std::size_t row, const Column& from, std::size_t from_row) {
  std::memcpy(values_.data() + row * width_, from.values_.data() + from_row * width_, width_);
  gaps_.data()[row] = from.gaps_.data()[from_row];
}

bool Column::has_same_cell(std::size_t row, const Column& other) const {
  if (gap(row) != other.gap(row)) return false;
  return !has_value(row) || std::memcmp(values_.data() + row * width_,
                                        other.values_.data() + row * width_, width_) == 0;
}

void Column::assign_rows(const Column& from, std::span<const RowRange> rows) {
  std::size_t count = 0;
  for (const RowRange& run : rows) count += run.count;
  resize(count, Gap::Untouched);
  copy_runs(values_.data(), from.values_.data(), rows, width_);
  copy_runs(gaps_.data(), from.gaps_.data(), rows, sizeof(ctprof_gap));
}

void Column::reorder_rows(std::span<const RowRange> order, std::vector<std::byte>& scratch) {
  const auto reorder = [&](std::byte* bytes, std::size_t width) {
    scratch.assign(bytes, bytes + rows() * width);
    copy_runs(bytes, scratch.data(), order, width);
  };
  reorder(values_.data(), width_);
  reorder(gaps_.data(), sizeof(ctprof_gap));
}

void allocate_together(std::deque<Column>& columns, std::size_t rows, bool values_of_all) {
  // The bytes of one column in the allocation.
  struct Part {
    ZeroedBytes* bytes;
    std::size_t size;
  };
  std::vector<Part> parts;
  std::size_t size = 0;
  const auto add = [&](ZeroedBytes& bytes, std::size_t width) {
    parts.push_back({&bytes, rows * width});
    size += round_up_to_cache_line(rows * width);
  };
  // All gaps are written, so they are stored together. Pages of values stay untouched if a column
  // has no values in the end.
  for (Column& column : columns) add(column.gaps_, sizeof(ctprof_gap));
  for (Column& column : columns)
    if (values_of_all || !column.provenance.plugin.empty()) add(column.values_, column.width_);
  if (size < kHugePageThreshold) return;
  const std::shared_ptr<std::byte> all(map_zeroed(size),
                                       [size](std::byte* bytes) { ::munmap(bytes, size); });
  // Fails on kernels without huge pages, which has no other effect.
  ::madvise(all.get(), size, MADV_HUGEPAGE);
  std::size_t at = 0;
  for (const Part& part : parts) {
    part.bytes->use_shared_part({all, all.get() + at}, part.size);
    at += round_up_to_cache_line(part.size);
  }
}

void ZeroedBytes::Deallocate::operator()(std::byte* bytes) const {
  if (shared) return;
  if (capacity < kMapThreshold)
    std::free(bytes);
  else
    ::munmap(bytes, capacity);
}

void ZeroedBytes::resize(std::size_t size) {
  const std::size_t capacity = bytes_.get_deleter().capacity;
  if (size > capacity) reserve(std::max(size, 2 * capacity));
  if (size > size_ && size_ < written_size_)
    std::memset(data() + size_, 0, std::min(size, written_size_) - size_);
  size_ = size;
  written_size_ = std::max(written_size_, size);
}

void ZeroedBytes::reserve(std::size_t capacity) {
  if (capacity <= bytes_.get_deleter().capacity) return;
  std::unique_ptr<std::byte, Deallocate> larger(allocate_zeroed(capacity),
                                                Deallocate{capacity, nullptr});
  if (size_ > 0) std::memcpy(larger.get(), data(), size_);
  bytes_ = std::move(larger);
  written_size_ = size_;
}

void ZeroedBytes::use_shared_part(std::shared_ptr<std::byte> part, std::size_t capacity) {
  std::byte* const bytes = part.get();
  bytes_ = {bytes, Deallocate{capacity, std::move(part)}};
  written_size_ = 0;
}

}  // namespace ctprof
