// The options of `export` that are about tables and Prometheus.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "tools/ctprof/options/option_values.hpp"

namespace ctprof::cli {

struct TableOptions {
  std::vector<Entity> entities{};  // of --rows; none: not said
  bool is_long = false;
  bool is_said = false;              // --rows
  std::uint64_t most_series = 5000;  // 0: any number
  std::string listen{};              // [ADDR:]PORT or unix:PATH; empty: a file is written
  std::string token_file{};          // of --listen; empty: none
  bool is_public = false;            // of --listen
};

// What --rows takes.
std::vector<std::string> row_words();

// The error is one sentence that names the valid form.
Result<TableOptions> read_table_options(const OptionValues& given);

}  // namespace ctprof::cli
