// Collects the cells that a group of columns writes into one row, keyed by metric name. Tests use
// it to check which column is filled from which source field.
//
// Contents:  a batch with one row that keeps its cells as text.
// See also:  source_driver.hpp, for whole sources with probing and inputs.

#pragma once

#include <array>
#include <bit>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "ctprof/batch.hpp"
#include "ctprof/gap.hpp"

using CellTexts = std::map<std::string, std::string>;

class OneRow {
 public:
  explicit OneRow(const std::vector<ctprof_metric>& metrics) : metrics_(metrics) {
    for (const ctprof_metric& metric : metrics_) {
      offers_.push_back({&metric, 0, 0});
      scalars_.push_back(0);
      gaps_.push_back(CTPROF_UNTOUCHED);
    }
    for (std::size_t i = 0; i < metrics_.size(); ++i)
      cells_.push_back({metrics_[i].storage >= CTPROF_STRING ? nullptr : &scalars_[i], &gaps_[i]});
    texts_.resize(metrics_.size());
    abi_.size = sizeof abi_;
    abi_.rows = 1;
    abi_.cells = cells_.data();
    abi_.core = this;
    abi_.put_text = [](void* core, std::uint32_t offer, std::uint32_t, const char* data,
                       std::size_t size) { written_text(core, offer).assign(data, size); };
    abi_.put_bits = [](void* core, std::uint32_t offer, std::uint32_t, const std::uint64_t* words,
                       std::size_t count) {
      for (std::size_t i = 0; i < count; ++i)
        written_text(core, offer) += (i > 0 ? " " : "") + std::to_string(words[i]);
    };
    abi_.put_map = [](void* core, std::uint32_t offer, std::uint32_t, const ctprof_entry* entries,
                      std::size_t count) {
      for (std::size_t i = 0; i < count; ++i)
        written_text(core, offer) += std::string(entries[i].key.data, entries[i].key.size) + "=" +
                                     std::to_string(entries[i].value);
    };
  }

  ctprof::sdk::Batch batch() {
    array_ = {offers_.data(), static_cast<std::uint32_t>(offers_.size()), sizeof offers_[0]};
    return {abi_, array_, array_};
  }

  CellTexts cells() const {
    CellTexts found;
    for (std::size_t i = 0; i < metrics_.size(); ++i) found[metrics_[i].name] = cell(i);
    return found;
  }

 private:
  static std::string& written_text(void* core, std::uint32_t offer) {
    auto& row = *static_cast<OneRow*>(core);
    row.gaps_[offer] = CTPROF_VALUE;
    return row.texts_[offer];
  }

  std::string cell(std::size_t i) const {
    if (gaps_[i] != CTPROF_VALUE)
      return std::string(ctprof::name(static_cast<ctprof::Gap>(gaps_[i])));
    switch (metrics_[i].storage) {
      case CTPROF_U64: return std::to_string(scalars_[i]);
      case CTPROF_I64: return std::to_string(static_cast<std::int64_t>(scalars_[i]));
      case CTPROF_F64: return std::to_string(std::bit_cast<double>(scalars_[i]));
      case CTPROF_BOOL: return (scalars_[i] & 1) != 0 ? "true" : "false";
      default: return texts_[i];
    }
  }

  std::vector<ctprof_metric> metrics_;
  std::vector<ctprof_offer> offers_;
  std::deque<std::uint64_t> scalars_;
  std::deque<ctprof_gap> gaps_;
  std::vector<ctprof_cells> cells_;
  std::vector<std::string> texts_;
  ctprof_array array_{};
  ctprof_batch abi_{};
};

// Creates the columns of `Group`, lets `fill(columns)` fill row 0, and returns the cells.
template <class Group, class Fill>
CellTexts fill_one_row(Fill fill) {
  OneRow row({Group::kOffers.begin(), Group::kOffers.end()});
  Group columns(row.batch());
  fill(columns);
  return row.cells();
}
