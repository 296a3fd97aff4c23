#include "core/expression/expression_parser.hpp"

#include <algorithm>
#include <charconv>

namespace ctprof {
namespace {

// Limits for text from files; real expressions are much smaller.
constexpr std::size_t kMaxTextLength = 4096;
constexpr int kMaxDepth = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return starts_name(c) || is_digit(c) || c == '.'; }

// Reads the bracketed key at the start of the text. Returns its length including both brackets;
// npos if the closing bracket is missing.
std::size_t read_key(std::string_view text, std::string& key) {
  if (!text.starts_with("[\"")) {
    const std::size_t end = text.find(']');
    if (end == text.npos) return end;
    key = text.substr(1, end - 1);
    return end + 1;
  }
  std::size_t at = 2;
  for (key.clear(); at < text.size() && text[at] != '"'; ++at) {
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (text[at] == '\\' && (next == '"' || next == '\\')) ++at;
    key += text[at];
  }
  return text.substr(std::min(at, text.size())).starts_with("\"]") ? at + 2 : text.npos;
}

std::size_t key_length(std::string_view text) {
  std::string key;
  return read_key(text, key);
}

}  // namespace

std::optional<KeyName> split_key(std::string_view name) {
  const std::size_t open = name.find('[');
  if (open == name.npos) return {};
  KeyName found{name.substr(0, open), {}};
  if (read_key(name.substr(open), found.key) != name.size() - open) return {};
  return found;
}

std::string format_key_name(std::string_view metric, std::string_view key) {
  std::string name(metric);
  if (key.find_first_of("[]\"") == key.npos) return name.append("[").append(key).append("]");
  name += "[\"";
  for (const char c : key) name += c == '"' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  return name += "\"]";
}

std::string normalize_name(std::string_view name) {
  const std::size_t open = name.find('[');
  std::string key;
  const std::size_t size = open == name.npos ? open : read_key(name.substr(open), key);
  if (size == name.npos) return std::string(name);
  return format_key_name(name.substr(0, open), key).append(name.substr(open + size));
}

std::size_t find_outside_keys(std::string_view text, char character) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == character) return at;
    if (text[at] != '[') continue;
    if (const std::size_t size = key_length(text.substr(at)); size != text.npos) at += size - 1;
  }
  return text.npos;
}

std::vector<std::string_view> split_names(std::string_view list) {
  std::vector<std::string_view> entries;
  for (std::size_t end = 0; end != list.npos;) {
    end = find_outside_keys(list, ',');
    entries.push_back(list.substr(0, end));
    list.remove_prefix(end == list.npos ? list.size() : end + 1);
  }
  return entries;
}

namespace {

// Explains why the text after a complete expression is not an operator.
std::string explain_missing_operator(std::string_view parsed, std::string_view rest,
                                     Grammar grammar) {
  if (grammar == Grammar::Condition && rest.front() == '=') return "'=' is not an operator; use ==";
  const auto is_in = [](char c, char first, char last) { return c >= first && c <= last; };
  const bool is_unit = !parsed.empty() && is_in(parsed.back(), '0', '9') &&
                       (is_in(rest.front(), 'a', 'z') || is_in(rest.front(), 'A', 'Z'));
  return is_unit ? "a number takes no unit and no exponent" : "an operator was expected";
}

}  // namespace

Result<Program> ExpressionParser::parse(std::string_view activity) {
  const std::string_view full_text = rest_;
  if (full_text.size() > kMaxTextLength) fail("it is too long");
  if (error_cause_.empty() && parse_sum(1) && !rest_.empty())
    fail(explain_missing_operator(full_text.substr(0, full_text.size() - rest_.size()), rest_,
                                  grammar_));
  if (error_cause_.empty()) return std::move(program_);
  const std::size_t at = full_text.size() - rest_.size() + 1;
  return error(activity, full_text.substr(0, kMaxTextLength),
               error_cause_ + " at character " + std::to_string(at));
}

const Operator* ExpressionParser::find_operator() const {
  const auto it =
      std::find_if(std::begin(kOperators), std::end(kOperators), [&](const Operator& match) {
        if (grammar_ == Grammar::Formula && match.operands != Operands::Numbers) return false;
        const std::size_t size = match.sign.size();
        const bool is_word = starts_name(match.sign.front());
        return rest_.starts_with(match.sign) &&
               !(is_word && rest_.size() > size && continues_name(rest_[size]));
      });
  return it == std::end(kOperators) ? nullptr : it;
}

// Parses operands joined by operators of at least this precedence.
bool ExpressionParser::parse_sum(int least_precedence) {
  if (!parse_operand()) return false;
  while (true) {
    skip_blanks();
    const Operator* found = find_operator();
    if (!found || found->precedence < least_precedence) return true;
    rest_.remove_prefix(found->sign.size());
    if (!parse_right_side(*found)) return false;
  }
}

bool ExpressionParser::parse_right_side(const Operator& found) {
  if (found.operands == Operands::Pattern) return parse_pattern();
  if (found.operands == Operands::Path) return parse_path();
  if (!parse_sum(found.precedence + 1)) return false;
  push(found.op);
  return true;
}

bool ExpressionParser::parse_operand() {
  if (++depth_ > kMaxDepth) return fail("it is nested too deeply");
  skip_blanks();
  bool is_parsed = false;
  if (skip_char('(')) {
    is_parsed = parse_sum(1) && (skip_char(')') || fail("')' was expected"));
  } else if (skip_char('-')) {
    is_parsed = parse_operand();
    push(Op::Negate);
  } else if (grammar_ == Grammar::Condition && skip_char('!')) {
    is_parsed = parse_operand();
    push(Op::Not);
  } else if (std::string text; grammar_ == Grammar::Condition && read_quoted_text(false, text)) {
    is_parsed = error_cause_.empty();
    push(Op::Text, add_text(std::move(text)));
  } else if (!rest_.empty() && starts_name(rest_.front())) {
    is_parsed = parse_name();
  } else {
    is_parsed = parse_number();
  }
  --depth_;
  return is_parsed;
}

bool ExpressionParser::parse_name() {
  const std::size_t end = name_length();
  if (end == rest_.npos) return fail("the '[' of this name has no ']'");
  const std::string_view word = rest_.substr(0, end);
  rest_.remove_prefix(end);
  if (word == "max" && skip_char('(')) return parse_max();
  const bool optional = !rest_.empty() && rest_.front() == '?';
  if (optional) rest_.remove_prefix(1);
  push(Op::Input, add_input(normalize_name(word), optional));
  return true;
}

// Accepts letters, digits, dots and _, and a key in brackets.
std::size_t ExpressionParser::name_length() const {
  std::size_t end = 0;
  while (end < rest_.size() && (continues_name(rest_[end]) || rest_[end] == '[')) {
    const std::size_t size = rest_[end] == '[' ? key_length(rest_.substr(end)) : 1;
    if (size == rest_.npos) return size;
    end += size;
  }
  return end;
}

bool ExpressionParser::parse_max() {
  if (!parse_sum(1)) return false;
  while (skip_char(',')) {
    if (!parse_sum(1)) return false;
    push(Op::Max);
  }
  return skip_char(')') || fail("',' or ')' was expected");
}

bool ExpressionParser::parse_number() {
  double value = 0;
  const auto [end, problem] =
      std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, std::chars_format::fixed);
  if (problem != std::errc{} || !is_digit(rest_.front()))
    return fail(grammar_ == Grammar::Formula ? "a name, a number or '(' was expected"
                                             : "a name, a number, a text or '(' was expected");
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  program_.instructions.push_back({Op::Number, 0, value});
  return true;
}

// Parses the right side of =~, which is always a literal.
bool ExpressionParser::parse_pattern() {
  skip_blanks();
  std::string text;
  const std::string_view before = rest_;
  if (!read_quoted_text(true, text)) return fail("a pattern in double quotes was expected");
  if (!error_cause_.empty()) return false;
  auto parsed = Pattern::parse(text);
  if (!parsed) {
    rest_ = before;
    return fail("invalid pattern (" + parsed.error().text + ")");
  }
  push(Op::Matches, static_cast<std::uint32_t>(program_.patterns.size()));
  program_.patterns.push_back(std::move(*parsed));
  return true;
}

// Parses the right side of `under`, which is always a literal. Drops slashes at its end.
bool ExpressionParser::parse_path() {
  skip_blanks();
  std::string text;
  const std::string_view before = rest_;
  if (!read_quoted_text(false, text) || !text.starts_with('/')) {
    rest_ = before;
    return fail("a path in double quotes that begins with / was expected");
  }
  while (text.ends_with('/')) text.pop_back();
  push(Op::Under, add_text(std::move(text)));
  return error_cause_.empty();
}

// Reads a text in double quotes, in which a backslash escapes a quote. In patterns, other
// backslashes are left to the pattern. Returns false and reads nothing if there is no opening
// quote.
bool ExpressionParser::read_quoted_text(bool is_pattern, std::string& out) {
  if (rest_.empty() || rest_.front() != '"') return false;
  std::size_t at = 1;
  for (; at < rest_.size() && rest_[at] != '"'; ++at) {
    if (rest_[at] == '\\' && at + 1 < rest_.size()) {
      const char next = rest_[at + 1];
      if (is_pattern && next != '"') out += '\\';
      if (!is_pattern && next != '"' && next != '\\') out += '\\';
      ++at;
    }
    out += rest_[at];
  }
  if (at >= rest_.size()) return fail("the text that begins here has no closing quote"), true;
  rest_.remove_prefix(at + 1);
  return true;
}

std::uint32_t ExpressionParser::add_text(std::string text) {
  program_.texts.push_back(std::move(text));
  return static_cast<std::uint32_t>(program_.texts.size() - 1);
}

// A name that appears both with and without `?` is not optional.
std::uint32_t ExpressionParser::add_input(std::string_view name, bool optional) {
  auto& inputs = program_.inputs;
  const auto match =
      std::find_if(inputs.begin(), inputs.end(), [&](const auto& i) { return i.name == name; });
  const auto index = static_cast<std::uint32_t>(match - inputs.begin());
  if (match == inputs.end()) inputs.push_back({std::string(name), optional});
  inputs[index].optional = inputs[index].optional && optional;
  return index;
}

bool ExpressionParser::fail(std::string_view cause) {
  if (error_cause_.empty()) error_cause_ = cause;
  return false;
}

bool ExpressionParser::skip_char(char c) {
  skip_blanks();
  if (rest_.empty() || rest_.front() != c) return false;
  rest_.remove_prefix(1);
  return true;
}

void ExpressionParser::skip_blanks() {
  rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size()));
}

}  // namespace ctprof
