#include "core/expression/program.hpp"

#include <re2/re2.h>
#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace ctprof {
namespace {

// Limits the length of patterns; real patterns are shorter.
constexpr std::size_t kMaxPatternLength = 512;

const char* describe_error(re2::RE2::ErrorCode code) {
  switch (code) {
    case re2::RE2::ErrorBadEscape:
      return "a backslash precedes a character that needs none; back-references are not supported";
    case re2::RE2::ErrorBadCharClass:
    case re2::RE2::ErrorBadCharRange: return "a range or class of characters is invalid";
    case re2::RE2::ErrorMissingBracket: return "a '[' has no ']'";
    case re2::RE2::ErrorMissingParen:
    case re2::RE2::ErrorUnexpectedParen: return "a parenthesis is unmatched";
    case re2::RE2::ErrorTrailingBackslash: return "it ends with a backslash";
    case re2::RE2::ErrorRepeatArgument: return "there is nothing to repeat";
    case re2::RE2::ErrorRepeatSize: return "a count in braces is invalid or too large";
    case re2::RE2::ErrorRepeatOp: return "a repetition is repeated";
    case re2::RE2::ErrorBadPerlOp:
      return "this use of '(?' is not supported, for example lookahead";
    case re2::RE2::ErrorBadNamedCapture: return "the name of a group is invalid";
    case re2::RE2::ErrorPatternTooLarge: return "it is too large";
    default: return "it is invalid";
  }
}

re2::RE2::Options options() {
  re2::RE2::Options re2_options(re2::RE2::Latin1);  // names are not always UTF-8
  re2_options.set_log_errors(false);
  re2_options.set_never_capture(true);
  re2_options.set_dot_nl(true);
  return re2_options;
}

}  // namespace

Result<Pattern> Pattern::parse(std::string_view text) {
  if (text.size() > kMaxPatternLength) return Error{"it is too long"};
  auto compiled = std::make_shared<re2::RE2>(re2::StringPiece(text.data(), text.size()), options());
  if (!compiled->ok()) return Error{describe_error(compiled->error_code())};
  return Pattern(std::move(compiled));
}

bool Pattern::matches(std::string_view name) const {
  return re2::RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), *compiled_);
}

namespace {

using Instructions = std::span<const Program::Instruction>;

std::size_t count_operands(Op op) {
  switch (op) {
    case Op::Number:
    case Op::Input:
    case Op::Text: return 0;
    case Op::Negate:
    case Op::Not:
    case Op::Matches:
    case Op::Under: return 1;
    default: return 2;
  }
}

// Returns the number of instructions that form the last operand.
std::size_t last_operand_size(Instructions instructions) {
  std::size_t count = 0;
  for (std::size_t missing_operands = 1; missing_operands > 0; ++count)
    missing_operands += count_operands(instructions[instructions.size() - count - 1].op) - 1;
  return count;
}

Program extract_part(const Program& whole, Instructions instructions) {
  Program part{
      whole.text, {}, {instructions.begin(), instructions.end()}, whole.texts, whole.patterns};
  for (Program::Instruction& instruction : part.instructions) {
    if (instruction.op != Op::Input) continue;
    const Program::Input& input = whole.inputs[instruction.index];
    const auto match =
        std::find_if(part.inputs.begin(), part.inputs.end(),
                     [&](const Program::Input& other) { return other.name == input.name; });
    instruction.index = static_cast<std::uint32_t>(match - part.inputs.begin());
    if (match == part.inputs.end()) part.inputs.push_back(input);
  }
  return part;
}

void add_parts(std::vector<Program>& parts, const Program& whole, Instructions instructions) {
  if (instructions.back().op != Op::And) return parts.push_back(extract_part(whole, instructions));
  const Instructions operands = instructions.first(instructions.size() - 1);
  const std::size_t right = last_operand_size(operands);
  add_parts(parts, whole, operands.first(operands.size() - right));
  add_parts(parts, whole, operands.last(right));
}

}  // namespace

std::vector<Program> split_at_and(const Program& program) {
  std::vector<Program> parts;
  add_parts(parts, program, program.instructions);
  return parts;
}

}  // namespace ctprof
