// Mouse input of a view: a click on a heading sorts, a click on a row selects it, the wheel
// scrolls.

#include <algorithm>
#include <string>
#include <string_view>

#include "core/render/terminal_text.hpp"
#include "tools/ctprof/live/view.hpp"

namespace ctprof::live {
namespace {

constexpr std::ptrdiff_t kWheelLines = 3;

// A label in a table heading, and its position in the heading.
struct Label {
  std::string_view text;
  std::size_t number = 0;
};

Label label_at(std::string_view heading, std::size_t column) {
  const std::string gap(kColumnGap, ' ');
  Label nearest;
  std::size_t least_distance = SIZE_MAX, number = 0;
  for (std::size_t from = heading.find_first_not_of(' '); from < heading.size(); ++number) {
    const std::size_t to = std::min(heading.find(gap, from), heading.size());
    const std::size_t first = get_display_width(heading.substr(0, from)),
                      last = get_display_width(heading.substr(0, to)) - 1;
    const std::size_t distance = column < first ? first - column : column - std::min(column, last);
    if (distance < least_distance)
      nearest = {heading.substr(from, to - from), number}, least_distance = distance;
    from = heading.find_first_not_of(' ', to);
  }
  return nearest;
}

}  // namespace

void View::take(const MouseEvent& event) {
  message_.clear();
  switch (event.kind) {
    case MouseEvent::Kind::WheelUp: scroll(-kWheelLines); break;
    case MouseEvent::Kind::WheelDown: scroll(kWheelLines); break;
    case MouseEvent::Kind::Press: click(event); break;
  }
  refresh();
}

void View::toggle_mouse() {
  uses_mouse_ = !uses_mouse_;
  message_ = uses_mouse_ ? "the mouse is on" : "the mouse is off: the terminal selects text";
}

// Keeps the selected row on the screen.
void View::scroll(std::ptrdiff_t by) {
  if (overlay_ != Overlay::None || level_ == Level::Thread) return move_selection(by);
  if (rows_.empty()) return;
  Position& current_position = position();
  const std::size_t last_top = rows_.size() - std::min(rows_.size(), visible_rows_);
  const auto top = static_cast<std::ptrdiff_t>(current_position.top) + by;
  current_position.top = static_cast<std::size_t>(
      std::clamp<std::ptrdiff_t>(top, 0, static_cast<std::ptrdiff_t>(last_top)));
  select_row(std::clamp(current_position.selected, current_position.top,
                        std::min(current_position.top + visible_rows_, rows_.size()) - 1));
}

void View::click(const MouseEvent& event) {
  if (drawn_table_.count == 0 || event.line < drawn_table_.line) return;
  const std::size_t below = event.line - drawn_table_.line;
  if (below == 0) return sort_at(event.column);
  if (below <= drawn_table_.count && drawn_table_.first + below <= rows_.size())
    select_row(drawn_table_.first + below - 1);
}

// Sorts by the clicked column. If the rows are already sorted by it, reverses the order.
void View::sort_at(std::size_t column) {
  const auto [text, number] = label_at(drawn_table_.heading, column);
  const std::string label = number == 0 ? std::string(kByName) : std::string(text);
  for (const std::string& word : sort_words()) {
    if (word.empty() || make_printable(word) != label) continue;
    order() = {word, word == order().key && !order().is_reversed};
    return;
  }
  message_ = "rows cannot be sorted by '" + label + "'";
}

}  // namespace ctprof::live
