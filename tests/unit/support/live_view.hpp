// Builds views of `ctprof live` over synthetic windows, without a terminal or a host.

#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text.hpp"
#include "core/registry/loader.hpp"
#include "core/registry/registry.hpp"
#include "tests/unit/support/screen_windows.hpp"
#include "tools/ctprof/live/history.hpp"
#include "tools/ctprof/live/view.hpp"

namespace ctprof::live::live_view {

inline constexpr std::uint64_t kSecond = 1'000'000'000;

inline Sample sample(std::uint64_t number, std::size_t bytes = 100) {
  return {.number = number,
          .closed_ns = number * kSecond,
          .length_ns = kSecond,
          .bytes = std::make_shared<const std::string>(bytes, 'x')};
}

// Returns the first words of the lines below the table heading `heading`, such as "b a c".
inline std::string rows_below(const std::string& screen_text, const std::string& heading) {
  std::string names;
  bool is_below = false;
  for (const std::string_view line : split(screen_text, '\n')) {
    const std::string word(line.substr(0, line.find(' ')));
    if (is_below && (word.empty() || word == "not")) break;
    if (is_below) names += (names.empty() ? "" : " ") + word;
    is_below = is_below || word == heading;
  }
  return names;
}

struct ViewFixture {
  Registry registry{LoadedPlugins{}};
  WindowReporter reporter{registry, {}, {}};
  History history{1 << 20};
  View view{reporter, history};

  std::string text(Size size) {
    std::string all;
    for (const Line& line : view.render(size)) all += line.text + "\n";
    return all;
  }
};

// A view of a window in which threads a, b and c and a kernel thread ran.
struct BusyHostFixture : ViewFixture {
  BusyHostFixture() {
    using screen_windows::kMs;
    history.add(sample(1));
    view.on_new_window(
        screen_windows::window_of({{.name = "a", .cpu = 3000 * kMs, .switches = 900},
                                   {.name = "b", .cpu = 5000 * kMs, .switches = 100},
                                   {.name = "c", .cpu = 4000 * kMs, .switches = 500},
                                   {.name = "kswapd0", .cpu = 2000 * kMs, .is_kernel = true}}));
  }
  // Adds a window in which a thread of `name` waited for a CPU for most of the time.
  void add_wait(std::uint64_t number, const std::string& name) {
    using screen_windows::kMs;
    const auto wait = [](Snapshot& end, bool is_end) {
      const MetricDef def = screen_windows::with_role(
          screen_windows::with_headline(screen_windows::metric("wait", "MonotonicNs", "SumNs"),
                                        {"%wait", 5, CTPROF_SHOWN_PERCENT, false, 1e7}),
          "wait-time");
      screen_windows::add_u64(end, def, {is_end ? 9000 * kMs : 0, 0});
    };
    history.add(sample(number));
    view.on_new_window(screen_windows::window_of(
        {{.name = name, .cpu = 500 * kMs}, {.name = "hog", .cpu = 9500 * kMs}}, 10, {}, wait));
  }
  void press_keys(std::u32string_view keys) {
    for (const Key key : keys) view.take(key);
  }
  std::string rows_on_screen(const std::string& heading = "process") {
    return rows_below(text({30, 120}), heading);
  }
  bool contains_text(const std::string& words) {
    return text({30, 120}).find(words) != std::string::npos;
  }
};

}  // namespace ctprof::live::live_view
