// ctprof fleet judge: computes the significance of differences between two sides of hosts, from
// figures in its input. It treats hosts as compare treats runs.

#include <algorithm>
#include <boost/json/value.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/number.hpp"
#include "core/compare/asked/expressions.hpp"
#include "core/compare/evidence/row_family.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/statistics/labellings.hpp"
#include "tools/ctprof/fleet/fleet.hpp"
#include "tools/ctprof/fleet/input_lines.hpp"
#include "tools/ctprof/runtime/output.hpp"

namespace ctprof::cli {
namespace {

namespace json = boost::json;

// Limits that keep the memory below 256 MiB for any shape of the input.
constexpr std::uint64_t kMostHosts = 1'000'000;
constexpr std::size_t kMostFigures = std::size_t{1} << 25;
constexpr std::size_t kMostRows = 100'000;
// Bytes of a line without its figures, and bytes per figure.
constexpr std::size_t kLineBytes = 1 << 16, kFigureBytes = 32;

struct Question {
  Bar bar;
  std::optional<Condition> about{};
  statistics::Design design;
};

// Returns NaN if the member is missing or not a number.
double number_at(const json::object& object, std::string_view key) {
  const json::value* found = object.if_contains(key);
  return found && found->is_number() ? found->to_number<double>() : std::nan("");
}

Result<Question> question_in(const std::string& line) {
  const auto object = object_in(line);
  if (!object) return object.error();
  const auto count = [&](std::string_view key) -> std::size_t {
    const double number = number_at(*object, key);
    const bool is_count = number >= 1 && number <= kMostHosts && std::floor(number) == number;
    return is_count ? static_cast<std::size_t>(number) : 0;
  };
  Question question;
  question.bar = {number_at(*object, "alpha"), number_at(*object, "min_shift")};
  question.design = {count("baseline"), count("candidate")};
  auto about = about_in(*object);
  if (!about) return about.error();
  question.about = std::move(*about);
  if (question.design.baseline == 0 || question.design.candidate == 0)
    return Error{"needs baseline and candidate, each from 1 to " + std::to_string(kMostHosts) +
                 " hosts"};
  if (!(question.bar.alpha > 0 && question.bar.alpha <= 0.5))
    return Error{"needs alpha above 0 and up to 0.5"};
  if (!(question.bar.min_shift >= 0 && question.bar.min_shift <= 100))
    return Error{"needs min_shift from 0 to 100"};
  return question;
}

// Assigns numbers to names of groups and metrics.
class Names {
 public:
  std::uint32_t number(std::string_view name) {
    const auto [place, is_new] =
        known_.try_emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(&place->first);
    return place->second;
  }
  const std::string& name(std::uint32_t number) const { return *names_[number]; }

 private:
  std::map<std::string, std::uint32_t, std::less<>> known_;
  std::vector<const std::string*> names_;
};

std::optional<JoinsBy> entry_named(std::string_view word) {
  if (word == "mean") return JoinsBy::Mean;
  if (word == "range") return JoinsBy::Range;
  if (word == "group") return JoinsBy::Group;
  return std::nullopt;
}

class Judge {
 public:
  explicit Judge(const Question& question) : question_(question) {}

  Result<void> add(const std::string& line) {
    const auto object = object_in(line);
    if (!object) return object.error();
    const json::value *group = object->if_contains("group"),
                      *metric = object->if_contains("metric"),
                      *entry = object->if_contains("entry"),
                      *adds_up = object->if_contains("adds_up"),
                      *beyond = object->if_contains("beyond");
    if (!group || !group->is_string() || !metric || !metric->is_string())
      return Error{"needs texts as group and metric"};
    const auto joins =
        entry && entry->is_string() ? entry_named(entry->get_string()) : std::optional<JoinsBy>();
    if (!joins) return Error{"needs an entry: mean, range or group"};
    RowFigures row;
    row.group = groups_.number(group->get_string());
    row.metric = metrics_.number(metric->get_string());
    row.entry = *joins;
    row.floor = number_at(*object, "floor");
    if (beyond && beyond->is_bool() && beyond->get_bool()) beyond_.insert(row.group);
    row.adds_up = !adds_up || !adds_up->is_bool() || adds_up->get_bool();
    if (!(row.floor >= 0) || std::isinf(row.floor)) return Error{"needs a floor of 0 or more"};
    // Optional, because older programs do not write it.
    if (const double resolution = number_at(*object, "resolution"); std::isfinite(resolution))
      row.resolution = std::max(resolution, 0.0);
    return take_figures(*object, std::move(row));
  }

  int tell() {
    if (any_twice()) return fail("fleet judge: a group has a metric twice");
    // Computes the number of hosts and the medians of each row before the figures are freed.
    std::map<RowFamily::Row, Sides> sides;
    for (const RowFigures& row : rows_)
      if (can_be_judged(row)) sides.emplace(RowFamily::Row{row.group, row.metric}, sides_of(row));
    std::vector<RowFigures> about;
    for (const RowFigures& row : rows_)
      if (question_.about && is_about(*question_.about, groups_.name(row.group)))
        about.push_back(row);
    std::erase_if(rows_, [&](const RowFigures& row) { return beyond_.contains(row.group); });
    const RowFamily family(std::move(rows_), question_.design, question_.bar.alpha);
    JsonWriter out(Escape::Unshowable);
    write_head(family, out);
    write_rows(family, sides, false, out);
    if (question_.about)
      write_rows(RowFamily(std::move(about), question_.design, question_.bar.alpha), sides, true,
                 out);
    return print(out.view());
  }

 private:
  struct Side {
    ctprof_number median;
    std::uint64_t with = 0;
  };
  using Sides = std::pair<Side, Side>;

  Result<void> take_figures(const json::object& object, RowFigures row) {
    const json::value* figures = object.if_contains("figures");
    const std::size_t hosts = question_.design.runs();
    if (!figures || !figures->is_array() || figures->get_array().size() != hosts)
      return Error{"needs " + std::to_string(hosts) + " figures, the baseline's first"};
    if (rows_.size() >= kMostRows || (rows_.size() + 1) * hosts > kMostFigures)
      return Error{"is one too many: at most " + std::to_string(kMostRows) + " rows, and " +
                   std::to_string(kMostFigures) + " figures in all"};
    row.runs.reserve(hosts);
    for (const json::value& figure : figures->get_array()) {
      if (!figure.is_number() && !figure.is_null())
        return Error{"has a figure that is neither a number nor null"};
      row.runs.push_back(figure.is_null() ? std::nan("") : figure.to_number<double>());
    }
    rows_.push_back(std::move(row));
    return {};
  }

  bool any_twice() const {
    std::map<RowFamily::Row, bool> met;
    for (const RowFigures& row : rows_)
      if (!met.emplace(RowFamily::Row{row.group, row.metric}, true).second) return true;
    return false;
  }

  static Side side_of(std::span<const double> figures) {
    std::vector<ctprof_number> numbers;
    for (const double figure : figures)
      if (!std::isnan(figure)) numbers.push_back(number_of(figure));
    const std::uint64_t with = numbers.size();
    return {median(std::move(numbers)), with};
  }
  Sides sides_of(const RowFigures& row) const {
    const std::span figures(row.runs);
    const std::size_t baseline = question_.design.baseline;
    return {side_of(figures.first(baseline)), side_of(figures.subspan(baseline))};
  }

  void write_head(const RowFamily& family, JsonWriter& out) const {
    const statistics::Labellings& labellings = family.family().labellings();
    const auto enough = statistics::enough_runs(question_.bar.alpha, false);
    out.put('{');
    out.member("rows", std::uint64_t{family.rows().size()});
    out.member("labellings", labellings.are_all() ? statistics::ways(question_.design)
                                                  : std::uint64_t{labellings.size()});
    out.key("all");
    out.boolean(labellings.are_all());
    out.put(',');
    write(out, "smallest_p", statistics::smallest_p(question_.design));
    out.key("enough_runs");
    enough ? out.number(std::uint64_t{*enough}) : out.raw("null");
    out.raw("}\n");
  }

  // Rows of the family of --about are marked, and follow the rows of all groups.
  void write_rows(const RowFamily& family, const std::map<RowFamily::Row, Sides>& sides,
                  bool is_about, JsonWriter& out) const {
    const auto proofs = family.proofs(question_.bar);
    for (std::size_t at = 0; at < proofs.size(); ++at)
      if (proofs[at])
        write_row(family.rows()[at], *proofs[at], sides.at(family.rows()[at]), is_about, out);
  }

  void write_row(const RowFamily::Row& row, const Proof& proof, const Sides& sides, bool is_about,
                 JsonWriter& out) const {
    out.put('{');
    if (is_about) {
      out.key("about");
      out.boolean(true);
      out.put(',');
    }
    out.member("group", groups_.name(row.first));
    out.member("metric", metrics_.name(row.second));
    write(out, "shift", proof.shift);
    write(out, "low", proof.low);
    write(out, "high", proof.high);
    const Proof bare = without_floor(proof);
    out.raw("\"without_floor\":{");
    write(out, "shift", bare.shift);
    write(out, "low", bare.low);
    out.key("high");
    write_json(bare.high, out);
    out.raw("},");
    write(out, "p", proof.p);
    write(out, "p_alone", proof.p_alone);
    out.key("proven");
    out.boolean(proof.proven);
    out.raw(",\"baseline\":");
    write_json(sides.first.median, out);
    out.raw(",\"candidate\":");
    write_json(sides.second.median, out);
    out.put(',');
    out.member("with_baseline", sides.first.with);
    out.member("with_candidate", sides.second.with);
    out.close('}');
    out.put('\n');
  }

  // Writes null if the number is not finite.
  static void write(JsonWriter& out, std::string_view key, double number) {
    out.key(key);
    write_json(number, out);
    out.put(',');
  }

  Question question_;
  Names groups_, metrics_;
  std::vector<RowFigures> rows_;
  std::set<std::uint32_t> beyond_;  // groups that belong only to the family of --about
};

int fail_at(const InputLines& input, const Error& error) {
  return fail("fleet judge: " + input.place() + " " + error.text);
}

}  // namespace

int run_fleet_judge(std::span<const char* const> words) {
  if (!words.empty()) return fail("fleet judge reads only standard input");
  InputLines input;
  const auto first = input.line(kLineBytes);
  if (!first) return fail("fleet judge: " + first.error().text);
  if (!*first) return fail("fleet judge: standard input is empty");
  const auto question = question_in(**first);
  if (!question) return fail_at(input, question.error());
  Judge judge(*question);
  const std::size_t most = kLineBytes + kFigureBytes * question->design.runs();
  for (;;) {
    const auto line = input.line(most);
    if (!line) return fail("fleet judge: " + line.error().text);
    if (!*line) return judge.tell();
    if (auto added = judge.add(**line); !added) return fail_at(input, added.error());
  }
}

}  // namespace ctprof::cli
