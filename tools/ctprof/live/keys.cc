#include "tools/ctprof/live/keys.hpp"

#include <algorithm>
#include <array>

#include "core/render/terminal_text.hpp"

namespace ctprof::live {
namespace {

constexpr Key control_key(char letter) { return static_cast<Key>(letter & 0x1f); }

// In the order of the help. To add a key, add a line here, and its effect to View::perform.
constexpr std::array kKeys{
    KeyInfo{Action::Quit, U'q', 0, "q", "quit", "quit; so does Ctrl-C"},
    KeyInfo{Action::Help, U'?', U'h', "? h", "help", "show this help; press again to return"},
    KeyInfo{Action::Descend, to_key(SpecialKey::Enter), 0, "Enter", "descend",
            "open the threads of a group, or all metrics of a thread"},
    KeyInfo{Action::Back, to_key(SpecialKey::Escape), to_key(SpecialKey::Backspace),
            "Esc Backspace", "back",
            "return to the previous page; on the page of groups, remove the filter"},
    KeyInfo{Action::Group, U'g', 0, "g", "group",
            "group by the next key: process name, cgroup, thread name, each process"},
    KeyInfo{Action::Sort, U's', 0, "s", "sort", "sort groups or threads by the next column"},
    KeyInfo{Action::Reverse, U'r', 0, "r", "", "reverse the order"},
    KeyInfo{Action::Filter, U'/', 0, "/", "filter",
            "show only names that contain the text; Enter applies, Esc cancels"},
    KeyInfo{Action::Pause, U' ', 0, "Space", "pause",
            "pause the display, or continue; recording continues"},
    KeyInfo{Action::Earlier, U'[', to_key(SpecialKey::Left), "[ Left", "earlier",
            "show the previous window, back to the start of the history"},
    KeyInfo{Action::Later, U']', to_key(SpecialKey::Right), "] Right", "later",
            "show the next window"},
    KeyInfo{Action::MuchEarlier, U'{', 0, "{", "", "go back by twenty windows"},
    KeyInfo{Action::MuchLater, U'}', 0, "}", "", "go forward by twenty windows"},
    KeyInfo{Action::MarkA, U'a', 0, "a", "mark A", "mark the displayed window as A"},
    KeyInfo{Action::MarkB, U'b', 0, "b", "mark B", "mark the displayed window as B"},
    KeyInfo{Action::Compare, U'c', 0, "c", "compare", "compare A and B; press again to return"},
    KeyInfo{Action::Write, U'w', 0, "w", "write",
            "write the displayed window to a file in the current directory; if A and B are marked, "
            "write the windows from A to B as one"},
    KeyInfo{Action::Findings, U'f', 0, "f", "findings",
            "show all findings in full, with commands for the next step; press again to return"},
    KeyInfo{Action::KernelThreads, U'K', 0, "K", "kernel threads", "hide or show kernel threads"},
    KeyInfo{Action::Longer, U'+', U'=', "+", "", "longer windows, up to 60 s"},
    KeyInfo{Action::Shorter, U'-', 0, "-", "", "shorter windows, down to 0.5 s"},
    KeyInfo{Action::Mouse, U'm', 0, "m", "mouse",
            "turn the mouse off, so that the terminal selects text, or on: a click on a heading "
            "sorts by it, another reverses the order, a click on a row selects it, the wheel "
            "scrolls"},
    KeyInfo{Action::Up, to_key(SpecialKey::Up), U'k', "Up k", "", "a line up"},
    KeyInfo{Action::Down, to_key(SpecialKey::Down), U'j', "Down j", "", "a line down"},
    KeyInfo{Action::PageUp, to_key(SpecialKey::PageUp), 0, "PgUp", "", "a screen up"},
    KeyInfo{Action::PageDown, to_key(SpecialKey::PageDown), 0, "PgDn", "", "a screen down"},
    KeyInfo{Action::First, to_key(SpecialKey::Home), 0, "Home", "", "to the first line"},
    KeyInfo{Action::Last, to_key(SpecialKey::End), 0, "End", "", "to the last line"},
    KeyInfo{Action::Redraw, control_key('L'), to_key(SpecialKey::Resized), "Ctrl-L", "",
            "redraw everything"},
};

}  // namespace

std::span<const KeyInfo> key_table() { return kKeys; }

Action find_action(Key key) {
  const auto it = std::ranges::find_if(kKeys, [&](const KeyInfo& key_info) {
    return key_info.key == key || (key_info.second_key != 0 && key_info.second_key == key);
  });
  return it == kKeys.end() ? Action::None : it->action;
}

std::string key_line(std::size_t width) {
  std::string line;
  for (const KeyInfo& key_info : kKeys) {
    if (key_info.short_label.empty()) continue;
    const std::string next = (line.empty() ? "" : "  ") +
                             std::string(key_info.label.substr(0, key_info.label.find(' '))) + " " +
                             std::string(key_info.short_label);
    if (get_display_width(line) + get_display_width(next) > width) break;
    line += next;
  }
  return line;
}

}  // namespace ctprof::live
