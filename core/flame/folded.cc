// Writes folded stacks: one per line, outermost frame first, with its weight after the last blank.
//
// https://github.com/brendangregg/FlameGraph: frames are separated by semicolons, and names that
// end in _[k] belong to the kernel.

#include <algorithm>
#include <string>
#include <vector>

#include "core/flame/stack_forms.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

constexpr std::string_view kKernelMark = "_[k]";

std::string one_word(std::string_view name) {
  std::string word = told_name(name);
  std::ranges::replace(word, ' ', '_');
  std::ranges::replace(word, ';', ':');
  return word;
}

// The names of a table's frames; each is made once.
class Words {
 public:
  explicit Words(const StackTable& table) : table_(&table), words_(table.frames().size()) {}

  const std::string& operator[](std::uint32_t frame) {
    std::string& word = words_[frame];
    if (!word.empty()) return word;
    word = one_word(marked_function_of(*table_, frame));
    if (kind_of(*table_, frame) == FrameKind::Kernel) word += kKernelMark;
    return word;
  }

 private:
  const StackTable* table_;
  std::vector<std::string> words_;
};

std::string root_words(const StackOwner& owner) {
  std::string words;
  for (const std::string_view name : roots_of(owner))
    words += (words.empty() ? "" : ";") + one_word(name);
  return words;
}

}  // namespace

Result<void> write_folded(const StackProfile& profile, Sink& out) {
  Words words(*profile.table);
  for (const OwnedStacks& owned : profile.owners) {
    const std::string roots = root_words(owned.owner);
    for (const ctprof_stack& stack : owned.weights.front()) {
      std::string line = roots;
      const auto frames = frames_of(*profile.table, stack.stack);
      std::for_each(frames.rbegin(), frames.rend(),
                    [&](std::uint32_t frame) { line += ";" + words[frame]; });
      line += " " + std::to_string(stack.weight) + "\n";
      if (const auto written = out.write(line); !written) return written;
    }
  }
  return {};
}

}  // namespace ctprof
