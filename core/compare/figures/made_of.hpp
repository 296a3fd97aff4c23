// What a derived metric of one group is made of: which of its optional inputs ("name?") are there.
//
// An optional input that the kernel cannot have is no part of the figure; one that is switched off,
// denied or not in the file is a missing part. Two figures of different parts are two different
// questions: their difference is told, a percentage of it is not.
//
// What is here:   the parts of one figure, and whether two figures have the same.
// What is not:    finding out (run_figures.cc).

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ctprof {

enum class InputState : std::uint8_t {
  Required,    // no optional input
  Impossible,  // Unsupported on this side, or without a meaning for the group
  Missing,
  Present,
};

struct MadeOf {
  // By input of the expression. Empty where no input is optional, or the side has not the group.
  std::span<const InputState> inputs{};

  bool has_parts() const { return !inputs.empty(); }
  std::size_t present() const { return count(InputState::Present); }
  std::size_t possible() const { return present() + count(InputState::Missing); }
  bool whole() const { return count(InputState::Missing) == 0; }

 private:
  std::size_t count(InputState state) const {
    return static_cast<std::size_t>(std::count(inputs.begin(), inputs.end(), state));
  }
};

// A side that has not the group has no parts to differ in.
inline bool same_parts(const MadeOf& a, const MadeOf& b) {
  return !a.has_parts() || !b.has_parts() ||
         std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(),
                    [](InputState x, InputState y) {
                      return (x == InputState::Present) == (y == InputState::Present);
                    });
}

}  // namespace ctprof
