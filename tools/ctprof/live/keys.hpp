// The keys of `ctprof live`: one table, of which the screen of help and the line at the bottom are
// made, and by which keys become deeds.
//
// Not here: what a deed does (view.hpp), how a terminal tells of keys (terminal.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace ctprof::live {

// What a terminal tells beside letters. No letter of Unicode has these numbers.
enum class Special : char32_t {
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
  Resized,  // or started again after it was stopped: everything is to be drawn anew
};
using Key = char32_t;
constexpr Key key(Special special) { return static_cast<Key>(special); }

// What a mouse did, at a place of the screen, from 0 on.
struct MouseEvent {
  enum class Kind : std::uint8_t { Press, WheelUp, WheelDown };
  Kind kind = Kind::Press;
  std::size_t line = 0, column = 0;
};
using Input = std::variant<Key, MouseEvent>;

enum class Deed : std::uint8_t {
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
  Deed deed;
  Key key, other;          // 0: there is no other
  std::string_view shown;  // as people call them
  std::string_view brief;  // at the bottom of the screen; empty: not there
  std::string_view help;
};
std::span<const KeyInfo> keys();

Deed deed_of(Key key);

// "? help  q quit  g group ...", as much as fits.
std::string key_line(std::size_t width);

}  // namespace ctprof::live
