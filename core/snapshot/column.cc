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

void pick(std::byte* to, const std::byte* from, std::span<const RowRun> rows, std::size_t width) {
  for (const RowRun& run : rows) {
    to = std::copy_n(from + run.first * width, run.count * width, to);
  }
}

// Larger arrays are allocated with mmap. For smaller ones, zeroed memory of the allocator is
// cheaper than a system call.
constexpr std::size_t kPages = 1024 * 1024;
// A mapping of this size contains an aligned huge page of 2 MiB, wherever it begins.
constexpr std::size_t kHugePages = 4 * 1024 * 1024;
constexpr std::size_t kCacheLine = 64;

std::byte* mapped(std::size_t size) {
  void* const bytes =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(bytes);
}

std::byte* zeroed(std::size_t size) {
  if (size >= kPages) return mapped(size);
  void* const bytes = std::calloc(size, 1);
  if (!bytes) throw std::bad_alloc();
  return static_cast<std::byte*>(bytes);
}

std::size_t whole_lines(std::size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// Counts in a byte for up to 255 cells, so that the compiler can compare a vector register of cells
// at a time.
std::size_t count_of(std::span<const ctprof_gap> gaps, ctprof_gap kind) {
  constexpr std::size_t kRun = 255;
  std::size_t found = 0;
  while (!gaps.empty()) {
    const auto run = gaps.first(std::min(kRun, gaps.size()));
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
  std::size_t left = gaps.size();
  for (std::size_t kind = 0; kind < counts.size() && left > 0; ++kind) {
    const std::size_t found = count_of(gaps, static_cast<ctprof_gap>(kind));
    counts[kind] += found;
    left -= found;
  }
}

std::vector<RowRun> runs_of(std::span<const std::uint32_t> rows) {
  std::vector<RowRun> runs;
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
  values_.reserve(std::max(rows * width_, kPages));
  gaps_.reserve(rows);
}

void Column::move_rows(std::size_t to, std::size_t from, std::size_t count) {
  std::memmove(values_.data() + to * width_, values_.data() + from * width_, count * width_);
  std::memmove(gaps_.data() + to, gaps_.data() + from, count);
}

void Column::take(std::size_t row, const Column& from, std::size_t from_row) {
  std::memcpy(values_.data() + row * width_, from.values_.data() + from_row * width_, width_);
  gaps_.data()[row] = from.gaps_.data()[from_row];
}

bool Column::same_cell(std::size_t row, const Column& other) const {
  if (gap(row) != other.gap(row)) return false;
  return !has_value(row) || std::memcmp(values_.data() + row * width_,
                                        other.values_.data() + row * width_, width_) == 0;
}

void Column::gather(const Column& from, std::span<const RowRun> rows) {
  std::size_t count = 0;
  for (const RowRun& run : rows) count += run.count;
  resize(count, Gap::Untouched);
  pick(values_.data(), from.values_.data(), rows, width_);
  pick(gaps_.data(), from.gaps_.data(), rows, sizeof(ctprof_gap));
}

void Column::permute(std::span<const RowRun> order, std::vector<std::byte>& scratch) {
  const auto reorder = [&](std::byte* bytes, std::size_t width) {
    scratch.assign(bytes, bytes + rows() * width);
    pick(bytes, scratch.data(), order, width);
  };
  reorder(values_.data(), width_);
  reorder(gaps_.data(), sizeof(ctprof_gap));
}

void place_together(std::deque<Column>& columns, std::size_t rows, bool values_of_all) {
  // The bytes of one column in the allocation.
  struct Part {
    ZeroedBytes* bytes;
    std::size_t size;
  };
  std::vector<Part> parts;
  std::size_t size = 0;
  const auto add = [&](ZeroedBytes& bytes, std::size_t width) {
    parts.push_back({&bytes, rows * width});
    size += whole_lines(rows * width);
  };
  // All gaps are written, so they are stored together. Pages of values stay untouched if a column
  // has no values in the end.
  for (Column& column : columns) add(column.gaps_, sizeof(ctprof_gap));
  for (Column& column : columns)
    if (values_of_all || !column.provenance.plugin.empty()) add(column.values_, column.width_);
  if (size < kHugePages) return;
  const std::shared_ptr<std::byte> all(mapped(size),
                                       [size](std::byte* bytes) { ::munmap(bytes, size); });
  // Fails on kernels without huge pages, which has no other effect.
  ::madvise(all.get(), size, MADV_HUGEPAGE);
  std::size_t at = 0;
  for (const Part& part : parts) {
    part.bytes->adopt({all, all.get() + at}, part.size);
    at += whole_lines(part.size);
  }
}

void ZeroedBytes::Free::operator()(std::byte* bytes) const {
  if (shared) return;
  if (capacity < kPages)
    std::free(bytes);
  else
    ::munmap(bytes, capacity);
}

void ZeroedBytes::resize(std::size_t size) {
  const std::size_t capacity = bytes_.get_deleter().capacity;
  if (size > capacity) reserve(std::max(size, 2 * capacity));
  if (size > size_ && size_ < used_) std::memset(data() + size_, 0, std::min(size, used_) - size_);
  size_ = size;
  used_ = std::max(used_, size);
}

void ZeroedBytes::reserve(std::size_t capacity) {
  if (capacity <= bytes_.get_deleter().capacity) return;
  std::unique_ptr<std::byte, Free> larger(zeroed(capacity), Free{capacity, nullptr});
  if (size_ > 0) std::memcpy(larger.get(), data(), size_);
  bytes_ = std::move(larger);
  used_ = size_;
}

void ZeroedBytes::adopt(std::shared_ptr<std::byte> part, std::size_t capacity) {
  std::byte* const bytes = part.get();
  bytes_ = {bytes, Free{capacity, std::move(part)}};
  used_ = 0;
}

}  // namespace ctprof
