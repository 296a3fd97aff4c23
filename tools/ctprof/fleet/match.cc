// ctprof fleet match: prints the group names that --about selects.

#include <span>
#include <string>
#include <utility>

#include "core/base/json_writer.hpp"
#include "core/compare/request/expressions.hpp"
#include "tools/ctprof/fleet/fleet.hpp"
#include "tools/ctprof/fleet/input_lines.hpp"
#include "tools/ctprof/runtime/output.hpp"

namespace ctprof::cli {
namespace {

// Group names are paths, or names of processes and threads, so longer lines are invalid.
constexpr std::size_t kMaxMatchLineBytes = 1 << 20;

// Adds the line's group to the output if the condition selects it.
Result<void> write_if_selected(const std::string& line, const Condition& about, JsonWriter& out) {
  CTPROF_TRY_VALUE(const auto object, parse_object(line));
  const boost::json::value* group = object.if_contains("group");
  if (!group || !group->is_string()) return Error{"needs a string for group"};
  const std::string_view name(group->get_string());
  if (!matches_about(about, name)) return {};
  out.put('{');
  out.member("group", name);
  out.close('}');
  out.put('\n');
  return {};
}

Result<void> match_groups(InputLines& input, JsonWriter& out) {
  std::optional<Condition> about;
  for (;;) {
    CTPROF_TRY_VALUE(auto line, input.read_line(kMaxMatchLineBytes));
    if (!line && !about) return Error{"standard input is empty"};
    if (!line) return {};
    if (about) {
      if (auto written = write_if_selected(*line, *about, out); !written)
        return Error{input.describe_position() + " " + written.error().text};
      continue;
    }
    const auto request = parse_object(*line);
    if (!request) return Error{input.describe_position() + " " + request.error().text};
    CTPROF_TRY_VALUE(auto condition, parse_about_condition(*request));
    if (!condition) return Error{input.describe_position() + " needs a condition for about"};
    about = std::move(condition);
  }
}

}  // namespace

int run_fleet_match(std::span<const char* const> words) {
  if (!words.empty()) return fail("fleet match reads only standard input");
  InputLines input;
  JsonWriter out(Escape::Unprintable);
  if (auto matched = match_groups(input, out); !matched)
    return fail("fleet match: " + matched.error().text);
  return print(out.view());
}

}  // namespace ctprof::cli
