// The keys of `ctprof live` in one table, which defines the actions of keys, the help screen and
// the line at the bottom.
//
// See also: the effects of actions (view.hpp), input from the terminal (terminal.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace ctprof::live {

// Keys and events that are not characters. The values are outside the range of Unicode.
enum class SpecialKey : char32_t {
  Up = 0x110000,
  Down,
  PageUp,
  PageDown,
  Home,
  End,
  Left,
  Right,
  Enter,
  Escape,
  Backspace,
  Resized,  // also after continuing from a stop; the screen must be redrawn
};
using Key = char32_t;
constexpr Key to_key(SpecialKey special) { return static_cast<Key>(special); }

// A mouse event at a position of the screen, counted from 0.
struct MouseEvent {
  enum class Kind : std::uint8_t { Press, WheelUp, WheelDown };
  Kind kind = Kind::Press;
  std::size_t line = 0, column = 0;
};
using Input = std::variant<Key, MouseEvent>;

enum class Action : std::uint8_t {
  None,
  Up,
  Down,
  PageUp,
  PageDown,
  First,
  Last,
  Descend,
  Back,
  Group,
  Sort,
  Reverse,
  Filter,
  Pause,
  Earlier,
  Later,
  MuchEarlier,
  MuchLater,
  MarkA,
  MarkB,
  Compare,
  Write,
  Findings,
  KernelThreads,
  Longer,
  Shorter,
  Mouse,
  Redraw,
  Help,
  Quit,
};

struct KeyInfo {
  Action action;
  Key key, second_key;           // 0: no second key
  std::string_view label;        // name in the help
  std::string_view short_label;  // word at the bottom of the screen; empty: omitted
  std::string_view help;
};
std::span<const KeyInfo> key_table();

Action find_action(Key key);

// Returns "? help  q quit  g group ...", as much as fits.
std::string key_line(std::size_t width);

}  // namespace ctprof::live
