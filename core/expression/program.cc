#include "core/expression/program.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace ctprof {
namespace {

using Instructions = std::span<const Program::Instruction>;

std::size_t operands(Op op) {
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

// How many instructions at the end make up the last operand.
std::size_t last_operand(Instructions instructions) {
  std::size_t taken = 0;
  for (std::size_t wanted = 1; wanted > 0; ++taken)
    wanted += operands(instructions[instructions.size() - taken - 1].op) - 1;
  return taken;
}

Program part_of(const Program& whole, Instructions instructions) {
  Program part{
      whole.text, {}, {instructions.begin(), instructions.end()}, whole.texts, whole.patterns};
  for (Program::Instruction& instruction : part.instructions) {
    if (instruction.op != Op::Input) continue;
    const Program::Input& input = whole.inputs[instruction.index];
    const auto known =
        std::find_if(part.inputs.begin(), part.inputs.end(),
                     [&](const Program::Input& other) { return other.name == input.name; });
    instruction.index = static_cast<std::uint32_t>(known - part.inputs.begin());
    if (known == part.inputs.end()) part.inputs.push_back(input);
  }
  return part;
}

void add_parts(std::vector<Program>& parts, const Program& whole, Instructions instructions) {
  if (instructions.back().op != Op::And) return parts.push_back(part_of(whole, instructions));
  const Instructions both = instructions.first(instructions.size() - 1);
  const std::size_t right = last_operand(both);
  add_parts(parts, whole, both.first(both.size() - right));
  add_parts(parts, whole, both.last(right));
}

}  // namespace

std::vector<Program> joined_by_and(const Program& program) {
  std::vector<Program> parts;
  add_parts(parts, program, program.instructions);
  return parts;
}

}  // namespace ctprof
