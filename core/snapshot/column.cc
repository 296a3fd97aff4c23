#include "core/snapshot/column.hpp"

#include <cstring>
#include <utility>

namespace ctprof {
namespace {

std::size_t width_of(Storage storage) {
  if (storage == Storage::Bool) return 1;
  return is_pooled(storage) ? sizeof(Id) : sizeof(std::uint64_t);
}

}  // namespace

Column::Column(MetricDef def, std::size_t rows, Gap initial) : def_(std::move(def)), width_(width_of(def_.storage)) {
  resize(rows, initial);
}

void Column::resize(std::size_t rows, Gap gap) {
  values_.resize(rows * width_);
  gaps_.resize(rows, static_cast<ctprof_gap>(gap));
}

void Column::reserve(std::size_t rows) {
  values_.reserve(rows * width_);
  gaps_.reserve(rows);
}

void Column::move_rows(std::size_t to, std::size_t from, std::size_t count) {
  std::memmove(values_.data() + to * width_, values_.data() + from * width_, count * width_);
  std::memmove(gaps_.data() + to, gaps_.data() + from, count);
}

void Column::permute(std::span<const std::uint32_t> order) {
  std::vector<std::byte> values(order.size() * width_);
  std::vector<ctprof_gap> gaps(order.size());
  for (std::size_t row = 0; row < order.size(); ++row) {
    std::memcpy(values.data() + row * width_, values_.data() + order[row] * width_, width_);
    gaps[row] = gaps_[order[row]];
  }
  values_ = std::move(values);
  gaps_ = std::move(gaps);
}

}  // namespace ctprof
