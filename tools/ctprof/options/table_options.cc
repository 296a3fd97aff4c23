#include "tools/ctprof/options/table_options.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/base/text.hpp"
#include "ctprof/files.hpp"
#include "tools/ctprof/options/option_values.hpp"

namespace ctprof::cli {
namespace {

constexpr std::string_view kLongRows = "long";
constexpr std::array kRowKinds{std::pair<std::string_view, Entity>{"threads", Entity::Thread},
                               std::pair<std::string_view, Entity>{"cgroups", Entity::Cgroup},
                               std::pair<std::string_view, Entity>{"processes", Entity::Process},
                               std::pair<std::string_view, Entity>{"host", Entity::Host}};

Result<void> read_rows(const std::string& text, TableOptions& options) {
  options.has_rows_option = true;
  for (const std::string_view entry : split(text)) {
    const std::string_view word = sdk::trimmed(entry);
    const auto it = std::ranges::find(kRowKinds, word, [](const auto& row) { return row.first; });
    if (word == kLongRows)
      options.is_long = true;
    else if (it == kRowKinds.end())
      return invalid_choice_error("rows", word, list_row_kinds());
    else if (std::ranges::count(options.entities, it->second) == 0)
      options.entities.push_back(it->second);
  }
  return {};
}

}  // namespace

std::vector<std::string> list_row_kinds() {
  std::vector<std::string> words;
  for (const auto& [lower_case_word, entity] : kRowKinds) words.emplace_back(lower_case_word);
  words.emplace_back(kLongRows);
  return words;
}

Result<TableOptions> read_table_options(const OptionValues& values) {
  TableOptions options;
  if (has_option(values, "rows")) CTPROF_TRY(read_rows(last_value(values, "rows"), options));
  if (has_option(values, "listen")) options.listen = last_value(values, "listen");
  if (has_option(values, "token-file")) options.token_file = last_value(values, "token-file");
  options.is_public = has_option(values, "public");
  if (options.listen.empty() && (options.is_public || !options.token_file.empty()))
    return Error{"--token-file and --public require --listen"};
  if (!has_option(values, "max-series")) return options;
  const std::string& text = last_value(values, "max-series");
  const auto max_series = sdk::number<std::uint64_t>(text);
  if (!max_series) return Error{"--max-series: '" + text + "' is not a whole number"};
  options.max_series = max_series.value;
  return options;
}

}  // namespace ctprof::cli
