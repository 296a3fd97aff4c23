// Parses formulas and conditions by precedence climbing.
//
// Both use one grammar; a formula allows only operators that yield a number. The types of operands
// are checked later (condition.cc). A parser is used once.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/expression/program.hpp"

namespace ctprof {

// The name of a map key as users write it: METRIC[KEY]. A key that contains brackets or quotes is
// written in double quotes, METRIC["KEY"], in which \" is a quote and \\ a backslash.
struct KeyName {
  std::string_view metric;
  std::string key;  // without quotes
};
// Returns no value if the name has no key.
std::optional<KeyName> split_key(std::string_view name);
// Returns the name of a map key, quoted only if necessary.
std::string format_key_name(std::string_view metric, std::string_view key);
// Returns the canonical spelling of a name, without unnecessary quotes.
std::string normalize_name(std::string_view name);

// Returns the position of the first `character` outside keys; npos if there is none.
std::size_t find_outside_keys(std::string_view text, char character);
// Splits the list at commas outside keys.
std::vector<std::string_view> split_names(std::string_view list);

enum class Grammar : std::uint8_t { Formula, Condition };

class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, Grammar grammar) : rest_(text), grammar_(grammar) {
    program_.text = text;
  }

  // The error begins with `activity`, and names the character at which the text is wrong.
  Result<Program> parse(std::string_view activity);

 private:
  // Each of these functions parses one construct and appends its instructions; it returns false
  // after an error.
  bool parse_sum(int least_precedence);
  bool parse_right_side(const Operator& found);
  bool parse_operand();
  bool parse_name();
  std::size_t name_length() const;
  bool parse_number();
  bool parse_max();
  bool parse_pattern();
  bool parse_path();

  bool fail(std::string_view cause);
  bool skip_char(char c);
  bool read_quoted_text(bool is_pattern, std::string& out);
  void skip_blanks();
  const Operator* find_operator() const;
  std::uint32_t add_input(std::string_view name, bool optional);
  std::uint32_t add_text(std::string text);
  void push(Op op, std::uint32_t index = 0) { program_.instructions.push_back({op, index}); }

  std::string_view rest_;
  Grammar grammar_;
  Program program_;
  std::string error_cause_;
  int depth_ = 0;
};

}  // namespace ctprof
