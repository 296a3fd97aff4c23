// Writes folded stacks: one per line, outermost frame first, with its weight after the last blank.
//
// https://github.com/brendangregg/FlameGraph: frames are separated by semicolons, and names that
// end in _[k] belong to the kernel.

#include <algorithm>
#include <string>
#include <vector>

#include "core/flame/stack_formats.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

constexpr std::string_view kKernelMark = "_[k]";

std::string make_word(std::string_view name) {
  std::string word = make_printable_short(name);
  std::ranges::replace(word, ' ', '_');
  std::ranges::replace(word, ';', ':');
  return word;
}

// The names of a table's frames; each is made once.
class FrameWords {
 public:
  explicit FrameWords(const StackTable& table) : table_(&table), words_(table.frames().size()) {}

  const std::string& operator[](std::uint32_t frame) {
    std::string& word = words_[frame];
    if (!word.empty()) return word;
    word = make_word(get_marked_function_name(*table_, frame));
    if (get_frame_kind(*table_, frame) == FrameKind::Kernel) word += kKernelMark;
    return word;
  }

 private:
  const StackTable* table_;
  std::vector<std::string> words_;
};

std::string make_root_words(const StackOwner& owner) {
  std::string words;
  for (const std::string_view name : get_root_names(owner))
    words += (words.empty() ? "" : ";") + make_word(name);
  return words;
}

}  // namespace

Result<void> write_folded(const StackProfile& profile, Sink& out) {
  FrameWords words(*profile.table);
  for (const OwnedStacks& owned : profile.owners) {
    const std::string roots = make_root_words(owned.owner);
    for (const ctprof_stack& stack : owned.weights.front()) {
      std::string line = roots;
      const auto frames = get_frames(*profile.table, stack.stack);
      std::for_each(frames.rbegin(), frames.rend(),
                    [&](std::uint32_t frame) { line += ";" + words[frame]; });
      line += " " + std::to_string(stack.weight) + "\n";
      CTPROF_TRY(out.write(line));
    }
  }
  return {};
}

}  // namespace ctprof
