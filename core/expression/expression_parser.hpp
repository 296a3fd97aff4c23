// Parses formulas and conditions by precedence climbing.
//
// There is one grammar; a formula is restricted to what yields a number. Whether operands fit
// together is checked later (condition.cc). A parser is used once.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/expression/program.hpp"

namespace ctprof {

// One key of a map, as users name it: METRIC[KEY]. A key with brackets or quotes in it is written
// in double quotes, METRIC["KEY"], in which \" is a quote and \\ a backslash.
struct KeyName {
  std::string_view metric;
  std::string key;  // without quotes
};
// None if the name is of another form.
std::optional<KeyName> split_key(std::string_view name);
// The name of a key, quoted only if it must be.
std::string key_name(std::string_view metric, std::string_view key);
// The one spelling of a name: without quotes that it does not need.
std::string plain_name(std::string_view name);

// Where `mark` first stands outside of a key; npos if nowhere.
std::size_t find_outside_keys(std::string_view text, char mark);
// The entries between commas. A comma in a key ends none.
std::vector<std::string_view> split_names(std::string_view list);

enum class Grammar : std::uint8_t { Formula, Condition };

class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, Grammar grammar) : rest_(text), grammar_(grammar) {
    made_.text = text;
  }

  // The error begins with `activity`, and names the character at which the text is wrong.
  Result<Program> parse(std::string_view activity);

 private:
  // Each of these reads one construct and appends its instructions; false once anything is wrong.
  bool sum(int least_precedence);
  bool right_side(const Operator& found);
  bool operand();
  bool name();
  std::size_t end_of_name() const;
  bool number();
  bool max();
  bool pattern();
  bool path();

  bool fail(std::string_view why);
  bool take(char c);
  bool take_text(bool is_pattern, std::string& out);
  void skip_blanks();
  const Operator* find_operator() const;
  std::uint32_t input(std::string_view name, bool optional);
  std::uint32_t add_text(std::string text);
  void push(Op op, std::uint32_t index = 0) { made_.instructions.push_back({op, index}); }

  std::string_view rest_;
  Grammar grammar_;
  Program made_;
  std::string why_;
  int depth_ = 0;
};

}  // namespace ctprof
