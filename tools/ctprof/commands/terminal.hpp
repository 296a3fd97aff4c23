// The terminal of `ctprof live`. Only this file uses ncurses.
//
// The object controls the screen while it exists. Its destructor, or a signal that ends the
// program, restores the terminal. Ctrl-Z also restores it, and `fg` takes control again. Only one
// object may exist at a time.
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
  // Fails if the terminal type (TERM) is unknown. REQUIRES: both descriptors are one terminal.
  static Result<Terminal> open(int input, int output);
  Terminal(Terminal&&) noexcept;
  ~Terminal();

  Size size() const;
  void draw(std::span<const Line> lines);
  // Returns the next key or mouse event if one is available.
  std::optional<Input> input();
  // Selects whether the terminal reports clicks and the wheel; otherwise the mouse selects text.
  // Initially off. Terminals without a mouse ignore this.
  void use_mouse(bool is_enabled);
  // Makes the next draw() redraw the whole screen.
  void invalidate();
  // Whether the terminal was closed.
  bool is_closed() const;

 private:
  struct Screen;
  explicit Terminal(std::unique_ptr<Screen> screen);
  std::unique_ptr<Screen> screen_;
};

}  // namespace ctprof::live
