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

constexpr std::string_view kLong = "long";
constexpr std::array kRows{std::pair<std::string_view, Entity>{"threads", Entity::Thread},
                           std::pair<std::string_view, Entity>{"cgroups", Entity::Cgroup},
                           std::pair<std::string_view, Entity>{"processes", Entity::Process},
                           std::pair<std::string_view, Entity>{"host", Entity::Host}};

Result<void> read_rows(const std::string& text, TableOptions& options) {
  options.is_said = true;
  for (const std::string_view entry : split(text)) {
    const std::string_view word = sdk::trimmed(entry);
    const auto it = std::ranges::find(kRows, word, [](const auto& row) { return row.first; });
    if (word == kLong)
      options.is_long = true;
    else if (it == kRows.end())
      return no_choice("rows", word, row_words());
    else if (std::ranges::count(options.entities, it->second) == 0)
      options.entities.push_back(it->second);
  }
  return {};
}

}  // namespace

std::vector<std::string> row_words() {
  std::vector<std::string> words;
  for (const auto& [word, entity] : kRows) words.emplace_back(word);
  words.emplace_back(kLong);
  return words;
}

Result<TableOptions> read_table_options(const OptionValues& given) {
  TableOptions options;
  if (has_option(given, "rows"))
    if (auto read = read_rows(last_value(given, "rows"), options); !read) return read.error();
  if (has_option(given, "listen")) options.listen = last_value(given, "listen");
  if (has_option(given, "token-file")) options.token_file = last_value(given, "token-file");
  options.is_public = has_option(given, "public");
  if (options.listen.empty() && (options.is_public || !options.token_file.empty()))
    return Error{"--token-file and --public require --listen"};
  if (!has_option(given, "max-series")) return options;
  const std::string& text = last_value(given, "max-series");
  const auto most = sdk::number<std::uint64_t>(text);
  if (!most) return Error{"--max-series: '" + text + "' is not a whole number"};
  options.most_series = most.value;
  return options;
}

}  // namespace ctprof::cli
