// The options of `export` for tables and Prometheus.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/metric_def.hpp"
#include "tools/ctprof/options/option_values.hpp"

namespace ctprof::cli {

struct TableOptions {
  std::vector<Entity> entities{};  // from --rows; empty: not specified
  bool is_long = false;
  bool has_rows_option = false;     // whether --rows was specified
  std::uint64_t max_series = 5000;  // 0: no limit
  std::string listen{};             // [ADDR:]PORT or unix:PATH; empty: a file is written
  std::string token_file{};         // of --listen; empty: none
  bool is_public = false;           // of --listen
};

// Returns the words that --rows accepts.
std::vector<std::string> list_row_kinds();

// The error is one sentence that names the valid form.
Result<TableOptions> read_table_options(const OptionValues& values);

}  // namespace ctprof::cli
