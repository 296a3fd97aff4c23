// Decodes any bytes as x86-64 code. Checks that no byte outside of it is read, that no instruction
// exceeds the maximum length, and that a guess stays within its work limit.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/stacks/code_guess.hpp"
#include "core/stacks/x86_code.hpp"

using namespace ctprof;

namespace {

void decode_all(std::string_view code) {
  constexpr std::size_t kMaxInstructionBytes = 15;
  for (std::size_t at = 0; at < code.size(); ++at) {
    const StackInstruction next = decode_x86(code.substr(at));
    const bool is_valid = next.kind != StackInstruction::Kind::Invalid;
    if (next.size > kMaxInstructionBytes || next.size > code.size() - at) std::abort();
    if ((next.size > 0) != is_valid) std::abort();
    ends_with_x86_call(code.substr(0, at));
    is_signal_return(code.substr(at));
  }
}

}  // namespace

// The first two bytes are the position of a walk in the code after them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  // A separate copy, so that sanitizers detect reads outside of it.
  const std::vector<char> bytes(data + 2, data + size);
  const std::string_view code(bytes.data(), bytes.size());
  if (code.size() <= 512) decode_all(code);
  const std::size_t at = (data[0] | std::size_t{data[1]} << 8) % (code.size() + 1);
  const CodeGuess guess = guess_from_code(code, at, at);
  if (guess.steps > kMaxStepsPerGuess || guess.rules.size() > CodeGuess::kMaxRules) std::abort();
  if (guess.has_return_path && guess.rules.size() != 1) std::abort();
  for (const UnwindRule& rule : guess.rules)
    if (rule.cfa == Cfa::None || rule.cfa == Cfa::Unknown) std::abort();
  return 0;
}
