// The user interface of the history, independent of a terminal: it receives keys and returns
// screens.
//
//   view.take(U'g');
//   draw(view.render({.lines = 24, .columns = 80}));
//
// The user descends from groups to the threads of a group, and from there to one thread. Each
// level shows the newest window, or a fixed one after the user paused or stepped back. A selected
// row stays selected when it moves; until the user selects one, the first row is selected.
//
// Contents: the state and the keys (view.cc), the rows (rows.cc), the screens (rendering.cc,
// pages.cc), the mouse (mouse.cc).
// See also: the history and its windows (history.hpp), their reports (window_reports.hpp).
//
// Threads: one.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/compare/report/report.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/live/history.hpp"
#include "tools/ctprof/live/keys.hpp"
#include "tools/ctprof/live/thread_page.hpp"
#include "tools/ctprof/live/told.hpp"

namespace ctprof::live {

enum class Look : std::uint8_t { Plain, Heading, Chosen, Faint, Loud };

struct Line {
  std::string text;  // printable, and at most as wide as the screen
  Look look = Look::Plain;
};

struct Size {
  std::size_t lines = 0, columns = 0;
  auto operator<=>(const Size&) const = default;
};
inline constexpr Size kLeastSize{10, 40};

// Selectable window lengths. The shortest takes twice the CPU time of the default; ten of the
// longest fill the history.
inline constexpr std::array<std::uint64_t, 7> kIntervalsMs{500,    1000,   2000,  5000,
                                                           10'000, 30'000, 60'000};
inline constexpr std::size_t kDefaultInterval = 1;
// "0.5 s", "10 s"
std::string interval_in_words(std::uint64_t ns);

// The sort word that orders rows by name.
inline constexpr std::string_view kByName = "name";

class View {
 public:
  // REQUIRES: both arguments outlive this object.
  View(const Teller& teller, const History& history) : teller_(&teller), history_(&history) {}

  void take(Key key);
  // The event's position refers to the last screen.
  void take(const MouseEvent& event);
  // Must be called when the history has a new window. `latest`: the same window with computed
  // differences, if available.
  void take_window(std::optional<Snapshot> latest = {});
  // Whether the view shows the newest window.
  bool follows() const { return !held_; }
  // Adds the newest window of the observed thread's process, with computed differences.
  void take_process(const Snapshot& window);
  // Shows a message until the next key.
  void say(std::string sentence) { message_ = std::move(sentence); }

  // Returns the screen: at most size.lines lines.
  std::vector<Line> picture(Size size);

  bool quits() const { return quits_; }
  // Whether the terminal should report the mouse instead of selecting text.
  bool uses_mouse() const { return uses_mouse_; }
  // The thread whose metrics are all shown; none at other levels.
  std::optional<ThreadId> watched() const;
  // The length of windows from now on.
  std::uint64_t interval_ns() const;
  // Returns once the windows that the user wants to write: one, or all between the marks.
  std::optional<std::vector<Sample>> take_wanted() { return std::exchange(wanted_, std::nullopt); }

 private:
  enum class Level : std::uint8_t { Groups, Threads, Thread };
  enum class Over : std::uint8_t { Nothing, Help, Comparison, Findings };

  // A selectable line.
  struct Row {
    std::string id;
    ThreadId thread{};   // at Level::Threads
    std::size_t at = 0;  // index in the shown report or in threads_
  };
  struct Place {
    std::size_t chosen = 0, top = 0;
    std::string id;
    bool is_moved = false;
  };
  // The table of the last screen. Without a table there are no rows.
  struct Drawn {
    std::size_t line = 0;              // of the heading
    std::size_t first = 0, count = 0;  // range in rows_
    std::string heading;
  };
  struct Order {
    std::string by;  // a column label or another word of sort_words(); empty: by score
    bool is_reversed = false;
  };
  struct Shown {
    std::uint64_t number = 0;
    GroupBy axis{};
    std::optional<Snapshot> window;
    std::optional<Report> report;
    std::string trouble;
    std::vector<std::string> findings;  // one sentence each
  };
  struct Compared {
    std::uint64_t a = 0, b = 0;
    GroupBy axis{};
    std::optional<Report> report;
    std::string trouble;
  };

  GroupBy axis() const;
  std::uint64_t number() const;  // of the shown window; 0: none
  const Screen* screen() const { return shown_.report ? shown_.report->screen() : nullptr; }
  Place& place() { return places_[static_cast<std::size_t>(level_)]; }

  // view.cc
  void type(Key key);
  void act(Deed deed);
  void descend();
  void back();
  void move(std::ptrdiff_t by);
  void choose(std::size_t row);
  void step(std::int64_t by);
  void pause();
  void mark(std::optional<Sample>& mark, const char* name);
  void compare();
  void toggle(Over over);
  void want();
  void toggle_kernel_threads();
  void change_interval(int steps);
  void refresh();
  void show();
  void show(std::uint64_t number, Snapshot window);
  void tell();
  void fill_page();
  Order& order() { return orders_[level_ == Level::Threads ? 1 : 0]; }
  const Order& order() const { return orders_[level_ == Level::Threads ? 1 : 0]; }

  // mouse.cc
  void toggle_mouse();
  void scroll(std::ptrdiff_t by);
  void press(const MouseEvent& event);
  void sort_at(std::size_t column);

  // rows.cc
  std::vector<std::string> sort_words() const;
  bool can_sort();
  void next_sort();
  void reverse();
  bool is_kept(std::string_view name) const;
  void find_rows();
  void find_groups();
  void order_groups();
  void find_threads();
  void order_threads();
  void find_thread();

  // rendering.cc
  std::vector<Line> whole_picture(Size size);
  std::vector<Line> body(Size size);
  std::vector<Line> head(Size size);
  std::string state_line() const;
  std::vector<Line> finding_lines(Size size) const;
  std::string no_rows() const;
  // Formats a thread's value like the column of the screen.
  std::string column_text(std::size_t column, double figure) const;
  void mark_table(std::vector<Line>& lines, std::size_t first, std::size_t count);
  std::vector<Line> group_table(Size size);
  std::vector<Line> thread_table(Size size);
  std::size_t first_row(std::size_t room);

  // pages.cc
  std::vector<Line> scrolled(std::vector<Line> lines, std::size_t room);
  std::vector<Line> help_lines(Size size);
  std::vector<Line> findings_page(Size size) const;
  std::string thread_line() const;
  std::vector<Line> thread_lines(Size size);
  std::vector<Line> comparison(Size size);

  const Teller* teller_;
  const History* history_;
  Level level_ = Level::Groups;
  Over over_ = Over::Nothing;
  std::size_t axis_ = 0;
  std::array<Order, 2> orders_;  // of groups and of threads
  bool hides_kernel_threads_ = false, uses_mouse_ = true;
  std::size_t hidden_ = 0;                   // number of rows of kernel threads
  std::size_t interval_ = kDefaultInterval;  // in kIntervalsMs
  std::string filter_;
  bool is_typing_ = false;
  std::optional<std::uint64_t> held_;
  std::optional<Sample> a_, b_;
  std::array<Place, 3> places_;
  std::size_t scroll_ = 0, most_scroll_ = 0, room_ = 1;
  std::string group_;
  std::optional<ThreadPage> page_;
  std::string message_;
  bool quits_ = false;
  std::optional<std::vector<Sample>> wanted_;

  Shown shown_;
  Compared compared_;
  std::vector<ThreadRow> threads_;  // of the group, or only the shown thread
  std::vector<Row> rows_;
  Drawn drawn_;
};

}  // namespace ctprof::live
