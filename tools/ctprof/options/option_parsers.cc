#include "tools/ctprof/options/option_parsers.hpp"

#include "core/base/text.hpp"
#include "core/expression/expression_parser.hpp"
#include "ctprof/files.hpp"

namespace ctprof::cli {

Error invalid_choice_error(std::string_view option, std::string_view value,
                           const std::vector<std::string>& words) {
  return {"invalid --" + std::string(option) + " '" + std::string(value) + "' (choose " +
          join_texts(words) + ")" + suggest_nearest(value, words)};
}

Result<std::vector<std::string>> split_list(const OptionUse& use) {
  std::vector<std::string> items;
  for (const std::string& value : use.values)
    for (const std::string_view entry : split_names(value)) {
      const std::string_view item = sdk::trimmed(entry);
      if (item.empty())
        return Error{"--" + std::string(use.option) + ": an empty entry between commas"};
      items.emplace_back(item);
    }
  return items;
}

Result<std::uint64_t> parse_whole_number(std::string_view option, std::string_view text) {
  const auto number = sdk::number<std::uint64_t>(text);
  if (number) return number.value;
  return Error{"--" + std::string(option) + ": '" + std::string(text) +
               "' is not a whole number of 0 or more"};
}

Result<std::uint64_t> parse_whole_number(const OptionUse& use) {
  return parse_whole_number(use.option, use.last());
}

Result<std::uint64_t> parse_amount(const OptionUse& use, const Range& range, ReadAmount read) {
  const std::string& text = use.last();
  const std::uint64_t amount = read(text);
  if (amount < range.min || amount > range.max)
    return Error{"--" + std::string(use.option) + ": '" + text + "' is not " + range.description};
  return amount;
}

}  // namespace ctprof::cli
