// The terminal of `ctprof live`: the only file that knows ncurses.
//
// While it lives, the screen is ours. When it goes, or a signal ends the program, the terminal is
// as it was; Ctrl-Z and `fg` give it back and take it again. There is one at a time.
//
// Threads: one.

#pragma once

#include <memory>
#include <optional>
#include <span>

#include "core/base/result.hpp"
#include "tools/ctprof/live/keys.hpp"
#include "tools/ctprof/live/view.hpp"

namespace ctprof::live {

class Terminal {
 public:
  // Fails where nothing is known of the terminal (TERM). REQUIRES: both are one terminal.
  static Result<Terminal> open(int input, int output);
  Terminal(Terminal&&) noexcept;
  ~Terminal();

  Size size() const;
  void draw(std::span<const Line> lines);
  // The next key, or what the mouse did, if there is something already.
  std::optional<Input> input();
  // Whether the terminal reports clicks and the wheel; otherwise it selects text. It begins
  // without. Terminals that cannot report them go on as they are.
  void use_mouse(bool is_used);
  // Everything is drawn anew the next time.
  void forget();
  // Whether who typed has gone away.
  bool is_gone() const;

 private:
  struct Screen;
  explicit Terminal(std::unique_ptr<Screen> screen);
  std::unique_ptr<Screen> screen_;
};

}  // namespace ctprof::live
