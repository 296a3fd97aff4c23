#include "tools/ctprof/live/keys.hpp"

#include <algorithm>
#include <array>

#include "core/render/terminal_text.hpp"

namespace ctprof::live {
namespace {

constexpr Key ctrl(char letter) { return static_cast<Key>(letter & 0x1f); }

// In the order of the help. To add a key, add a line here, and its effect to View::perform.
constexpr std::array kKeys{
    KeyInfo{Deed::Quit, U'q', 0, "q", "quit", "quit; so does Ctrl-C"},
    KeyInfo{Deed::Help, U'?', U'h', "? h", "help", "show this, or leave it"},
    KeyInfo{Deed::Descend, key(Special::Enter), 0, "Enter", "descend",
            "from a group to its threads, from there to every metric of one thread"},
    KeyInfo{Deed::Back, key(Special::Escape), key(Special::Backspace), "Esc Backspace", "back",
            "back to where you came from; among the groups, drop the filter"},
    KeyInfo{Deed::Group, U'g', 0, "g", "group",
            "group by the next key: process name, cgroup, thread name, each process"},
    KeyInfo{Deed::Sort, U's', 0, "s", "sort", "sort groups or threads by the next column"},
    KeyInfo{Deed::Reverse, U'r', 0, "r", "", "reverse the order"},
    KeyInfo{Deed::Filter, U'/', 0, "/", "filter",
            "show only names that contain the text; Enter applies, Esc cancels"},
    KeyInfo{Deed::Pause, U' ', 0, "Space", "pause",
            "pause the display, or continue; recording continues"},
    KeyInfo{Deed::Earlier, U'[', key(Special::Left), "[ Left", "earlier",
            "a window back, as far as the history goes"},
    KeyInfo{Deed::Later, U']', key(Special::Right), "] Right", "later", "a window forward"},
    KeyInfo{Deed::MuchEarlier, U'{', 0, "{", "", "twenty windows back"},
    KeyInfo{Deed::MuchLater, U'}', 0, "}", "", "twenty windows forward"},
    KeyInfo{Deed::MarkA, U'a', 0, "a", "mark A", "mark the window that is shown as A"},
    KeyInfo{Deed::MarkB, U'b', 0, "b", "mark B", "mark it as B"},
    KeyInfo{Deed::Compare, U'c', 0, "c", "compare", "compare A and B; again: back"},
    KeyInfo{Deed::Write, U'w', 0, "w", "write",
            "write the window that is shown to a file in the current directory; between marks, all "
            "from A to B as one window"},
    KeyInfo{Deed::Findings, U'f', 0, "f", "findings",
            "show the findings in full, with the commands that continue, or leave them"},
    KeyInfo{Deed::KernelThreads, U'K', 0, "K", "kernel threads",
            "hide threads of the kernel, or show them"},
    KeyInfo{Deed::Longer, U'+', U'=', "+", "", "longer windows, up to 60 s"},
    KeyInfo{Deed::Shorter, U'-', 0, "-", "", "shorter windows, down to 0.5 s"},
    KeyInfo{Deed::Mouse, U'm', 0, "m", "mouse",
            "turn the mouse off, so that the terminal selects text, or on: a click on a heading "
            "sorts by it, another reverses the order, a click on a row selects it, the wheel "
            "scrolls"},
    KeyInfo{Deed::Up, key(Special::Up), U'k', "Up k", "", "a line up"},
    KeyInfo{Deed::Down, key(Special::Down), U'j', "Down j", "", "a line down"},
    KeyInfo{Deed::PageUp, key(Special::PageUp), 0, "PgUp", "", "a screen up"},
    KeyInfo{Deed::PageDown, key(Special::PageDown), 0, "PgDn", "", "a screen down"},
    KeyInfo{Deed::First, key(Special::Home), 0, "Home", "", "to the first line"},
    KeyInfo{Deed::Last, key(Special::End), 0, "End", "", "to the last line"},
    KeyInfo{Deed::Redraw, ctrl('L'), key(Special::Resized), "Ctrl-L", "", "redraw everything"},
};

}  // namespace

std::span<const KeyInfo> keys() { return kKeys; }

Deed deed_of(Key key) {
  const auto it = std::ranges::find_if(kKeys, [&](const KeyInfo& one) {
    return one.key == key || (one.other != 0 && one.other == key);
  });
  return it == kKeys.end() ? Deed::None : it->deed;
}

std::string key_line(std::size_t width) {
  std::string line;
  for (const KeyInfo& one : kKeys) {
    if (one.brief.empty()) continue;
    const std::string next = (line.empty() ? "" : "  ") +
                             std::string(one.shown.substr(0, one.shown.find(' '))) + " " +
                             std::string(one.brief);
    if (display_width(line) + display_width(next) > width) break;
    line += next;
  }
  return line;
}

}  // namespace ctprof::live
