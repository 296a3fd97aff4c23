#include "tools/ctprof/options/plugin_options.hpp"

#include <algorithm>
#include <span>

#include "tools/ctprof/options/option_values.hpp"

namespace ctprof::cli {
namespace {

bool is_one_of(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

Result<PluginOptions> read_plugin_options(const OptionValues& values) {
  PluginOptions options;
  if (has_option(values, "lang")) options.language = last_value(values, "lang");
  if (has_option(values, "source")) options.source = last_value(values, "source");
  options.as_root = has_option(values, "as-root");
  if (!is_one_of(kPluginLanguages, options.language))
    return invalid_choice_error("lang", options.language, kPluginLanguages);
  if (!is_one_of(kPluginSources, options.source))
    return invalid_choice_error("source", options.source, kPluginSources);
  return options;
}

}  // namespace ctprof::cli
