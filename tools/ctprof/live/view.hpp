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
#include "tools/ctprof/live/window_reports.hpp"

namespace ctprof::live {

enum class LineStyle : std::uint8_t { Plain, Heading, Selected, Dim, Bold };

struct Line {
  std::string text;  // printable, and at most as wide as the screen
  LineStyle style = LineStyle::Plain;
};

struct Size {
  std::size_t lines = 0, columns = 0;
  auto operator<=>(const Size&) const = default;
};
inline constexpr Size kMinSize{10, 40};

// Selectable window lengths. The shortest takes twice the CPU time of the default; ten of the
// longest fill the history.
inline constexpr std::array<std::uint64_t, 7> kIntervalsMs{500,    1000,   2000,  5000,
                                                           10'000, 30'000, 60'000};
inline constexpr std::size_t kDefaultInterval = 1;
// "0.5 s", "10 s"
std::string format_interval(std::uint64_t ns);

// The sort word that orders rows by name.
inline constexpr std::string_view kByName = "name";

class View {
 public:
  // REQUIRES: both arguments outlive this object.
  View(const WindowReporter& reporter, const History& history)
      : reporter_(&reporter), history_(&history) {}

  void take(Key key);
  // The event's position refers to the last screen.
  void take(const MouseEvent& event);
  // Must be called when the history has a new window. `latest`: the same window with computed
  // differences, if available.
  void on_new_window(std::optional<Snapshot> latest = {});
  // Whether the view shows the newest window.
  bool shows_newest() const { return !paused_at_; }
  // Adds the newest window of the observed thread's process, with computed differences.
  void on_process_window(const Snapshot& window);
  // Shows a message until the next key.
  void show_message(std::string sentence) { message_ = std::move(sentence); }

  // Returns the screen: at most size.lines lines.
  std::vector<Line> render(Size size);

  bool should_quit() const { return should_quit_; }
  // Whether the terminal should report the mouse instead of selecting text.
  bool uses_mouse() const { return uses_mouse_; }
  // The thread whose metrics are all shown; none at other levels.
  std::optional<ThreadId> watched_thread() const;
  // The length of windows from now on.
  std::uint64_t interval_ns() const;
  // Returns once the windows that the user wants to write: one, or all between the marks.
  std::optional<std::vector<Sample>> take_windows_to_write() {
    return std::exchange(windows_to_write_, std::nullopt);
  }

 private:
  enum class Level : std::uint8_t { Groups, Threads, Thread };
  enum class Overlay : std::uint8_t { None, Help, Comparison, Findings };

  // A selectable line.
  struct Row {
    std::string id;
    ThreadId thread{};   // at Level::Threads
    std::size_t at = 0;  // index in the shown report or in threads_
  };
  struct Position {
    std::size_t selected = 0, top = 0;
    std::string id;
    bool is_selected_by_user = false;
  };
  // The table of the last screen. Without a table there are no rows.
  struct DrawnTable {
    std::size_t line = 0;              // of the heading
    std::size_t first = 0, count = 0;  // range in rows_
    std::string heading;
  };
  struct Order {
    std::string key;  // a column label or another word of sort_words(); empty: by score
    bool is_reversed = false;
  };
  struct ShownWindow {
    std::uint64_t number = 0;
    GroupBy axis{};
    std::optional<Snapshot> window;
    std::optional<Report> report;
    std::string error_text;
    std::vector<std::string> findings;  // one sentence each
  };
  struct ComparedWindows {
    std::uint64_t a = 0, b = 0;
    GroupBy axis{};
    std::optional<Report> report;
    std::string error_text;
  };

  GroupBy axis() const;
  std::uint64_t shown_number() const;  // of the shown window; 0: none
  const Screen* screen() const {
    return shown_window_.report ? shown_window_.report->screen() : nullptr;
  }
  Position& position() { return positions_[static_cast<std::size_t>(level_)]; }

  // Defined in view.cc:
  void edit_filter(Key key);
  void perform(Action action);
  void descend();
  void go_back();
  void move_selection(std::ptrdiff_t by);
  void select_row(std::size_t row);
  void step_windows(std::int64_t by);
  void pause();
  void mark(std::optional<Sample>& mark, const char* name);
  void compare();
  void toggle(Overlay overlay);
  void select_windows_to_write();
  void toggle_kernel_threads();
  void change_interval(int steps);
  void refresh();
  void show_window();
  void show_window(std::uint64_t number, Snapshot window);
  void make_report();
  void fill_thread_page();
  Order& order() { return orders_[level_ == Level::Threads ? 1 : 0]; }
  const Order& order() const { return orders_[level_ == Level::Threads ? 1 : 0]; }

  // Defined in mouse.cc:
  void toggle_mouse();
  void scroll(std::ptrdiff_t by);
  void click(const MouseEvent& event);
  void sort_at(std::size_t column);

  // Defined in rows.cc:
  std::vector<std::string> sort_words() const;
  bool can_sort();
  void next_sort();
  void reverse();
  bool passes_filter(std::string_view name) const;
  void list_rows();
  void list_groups();
  void order_groups();
  void list_threads();
  void order_threads();
  void update_thread();

  // Defined in rendering.cc:
  std::vector<Line> render_all(Size size);
  std::vector<Line> render_body(Size size);
  std::vector<Line> render_heading(Size size);
  std::string state_line() const;
  std::vector<Line> finding_lines(Size size) const;
  std::string explain_empty_table() const;
  // Formats a thread's value like the column of the screen.
  std::string column_text(std::size_t column, double figure) const;
  void remember_table(std::vector<Line>& lines, std::size_t first, std::size_t count);
  std::vector<Line> group_table(Size size);
  std::vector<Line> thread_table(Size size);
  std::size_t scroll_to_selection(std::size_t available_lines);

  // Defined in pages.cc:
  std::vector<Line> scroll_lines(std::vector<Line> lines, std::size_t available_lines);
  std::vector<Line> help_lines(Size size);
  std::vector<Line> findings_page(Size size) const;
  std::string thread_line() const;
  std::vector<Line> thread_lines(Size size);
  std::vector<Line> comparison(Size size);

  const WindowReporter* reporter_;
  const History* history_;
  Level level_ = Level::Groups;
  Overlay overlay_ = Overlay::None;
  std::size_t axis_ = 0;
  std::array<Order, 2> orders_;  // of groups and of threads
  bool hides_kernel_threads_ = false, uses_mouse_ = true;
  std::size_t hidden_rows_ = 0;              // number of rows of kernel threads
  std::size_t interval_ = kDefaultInterval;  // in kIntervalsMs
  std::string filter_;
  bool is_typing_ = false;
  std::optional<std::uint64_t> paused_at_;
  std::optional<Sample> mark_a_, mark_b_;
  std::array<Position, 3> positions_;
  std::size_t scroll_offset_ = 0, max_scroll_offset_ = 0, visible_rows_ = 1;
  std::string group_;
  std::optional<ThreadPage> thread_page_;
  std::string message_;
  bool should_quit_ = false;
  std::optional<std::vector<Sample>> windows_to_write_;

  ShownWindow shown_window_;
  ComparedWindows compared_windows_;
  std::vector<ThreadRow> threads_;  // of the group, or only the shown thread
  std::vector<Row> rows_;
  DrawnTable drawn_table_;
};

}  // namespace ctprof::live
