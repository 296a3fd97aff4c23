// Parsers for the values of options (option.hpp). The error of a parser is one sentence that names
// the valid form.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "tools/ctprof/options/fraction_options.hpp"
#include "tools/ctprof/options/option.hpp"

namespace ctprof::cli {

// "invalid --color 'alwys' (choose auto, always, never) (did you mean 'always'?)"
Error invalid_choice_error(std::string_view option, std::string_view value,
                           const std::vector<std::string>& words);

// Splits the lists "a,b,c" of all occurrences of an option. An empty entry is an error.
Result<std::vector<std::string>> split_list(const OptionUse& use);

Result<std::uint64_t> parse_whole_number(const OptionUse& use);
Result<std::uint64_t> parse_whole_number(std::string_view option, std::string_view text);

// Stores the last value as it is.
struct LastText {
  template <class Text>
  Result<void> operator()(const OptionUse& use, Text& out) const {
    out = use.last();
    return {};
  }
};

// Stores all values as they are.
struct AllTexts {
  Result<void> operator()(const OptionUse& use, std::vector<std::string>& out) const {
    out = use.values;
    return {};
  }
};

// Stores the result of a function.
template <auto parse>
struct Parsed {
  template <class Value>
  Result<void> operator()(const OptionUse& use, Value& out) const {
    CTPROF_TRY_VALUE(auto value, parse(use));
    out = std::move(value);
    return {};
  }
};

// Stores the result of a function of each value.
template <auto parse>
struct EachParsed {
  template <class Value>
  Result<void> operator()(const OptionUse& use, std::vector<Value>& out) const {
    for (const std::string& text : use.values) {
      CTPROF_TRY_VALUE(auto value, parse(text));
      out.push_back(std::move(value));
    }
    return {};
  }
};

struct NameList : Parsed<&split_list> {};
struct WholeNumber {
  template <class Value>
  Result<void> operator()(const OptionUse& use, Value& out) const {
    CTPROF_TRY_VALUE(const auto number, parse_whole_number(use));
    out = number;
    return {};
  }
};

struct Range {
  std::uint64_t min, max;   // inclusive
  const char* description;  // describes the range to users: "a time from 1s to 1h"
};

// Parses an amount. Returns 0 if the text is invalid.
using ReadAmount = std::uint64_t (*)(std::string_view text);

Result<std::uint64_t> parse_amount(const OptionUse& use, const Range& range, ReadAmount read);

// An amount in a range, such as a length of time or a size.
template <const Range& range, ReadAmount read>
struct Amount {
  template <class Number>
  Result<void> operator()(const OptionUse& use, Number& out) const {
    CTPROF_TRY_VALUE(const auto amount, parse_amount(use, range, read));
    out = static_cast<Number>(amount);
    return {};
  }
};

template <const FractionOption& kind>
struct Fraction {
  Result<void> operator()(const OptionUse& use, double& out) const {
    CTPROF_TRY_VALUE(const auto fraction, parse_fraction(kind, use.last()));
    out = fraction;
    return {};
  }
};

// A word and the value that it selects.
template <class Value>
struct Word {
  std::string_view text;
  Value value;
};
template <class Value>
Word(const char*, Value) -> Word<Value>;

// One of several words. `words` is an array of Word.
template <const auto& words>
struct OneOf {
  template <class Value>
  Result<void> operator()(const OptionUse& use, Value& out) const {
    for (const auto& word : words)
      if (word.text == use.last()) {
        out = word.value;
        return {};
      }
    std::vector<std::string> texts;
    for (const auto& word : words) texts.emplace_back(word.text);
    return invalid_choice_error(use.option, use.last(), texts);
  }
};

// One of several names. `names` is an array of std::string_view, which the member refers to.
template <const auto& names>
struct OneNameOf {
  Result<void> operator()(const OptionUse& use, std::string_view& out) const {
    const auto name = std::ranges::find(names, use.last());
    if (name == names.end())
      return invalid_choice_error(use.option, use.last(), {names.begin(), names.end()});
    out = *name;
    return {};
  }
};

}  // namespace ctprof::cli
