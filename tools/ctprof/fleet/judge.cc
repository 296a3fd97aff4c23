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
#include "core/compare/evidence/row_family.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/compare/request/expressions.hpp"
#include "core/statistics/labellings.hpp"
#include "tools/ctprof/fleet/fleet.hpp"
#include "tools/ctprof/fleet/input_lines.hpp"
#include "tools/ctprof/options/fraction_options.hpp"
#include "tools/ctprof/runtime/output.hpp"

namespace ctprof::cli {
namespace {

namespace json = boost::json;

// Limits that keep the memory below 256 MiB for any shape of the input.
constexpr std::uint64_t kMaxHosts = 1'000'000;
constexpr std::size_t kMaxFigures = std::size_t{1} << 25;
constexpr std::size_t kMaxRows = 100'000;
// Bytes of a line without its figures, and bytes per figure.
constexpr std::size_t kLineBytes = 1 << 16, kFigureBytes = 32;

struct JudgeRequest {
  SignificanceThreshold bar;
  std::optional<Condition> about{};
  statistics::Design design;
};

// Returns NaN if the member is missing or not a number.
double read_number(const json::object& object, std::string_view key) {
  const json::value* found = object.if_contains(key);
  return found && found->is_number() ? found->to_number<double>() : std::nan("");
}

Result<JudgeRequest> parse_request(const std::string& line) {
  CTPROF_TRY_VALUE(const auto object, parse_object(line));
  const auto count = [&](std::string_view key) -> std::size_t {
    const double number = read_number(object, key);
    const bool is_count = number >= 1 && number <= kMaxHosts && std::floor(number) == number;
    return is_count ? static_cast<std::size_t>(number) : 0;
  };
  JudgeRequest request;
  request.bar = {read_number(object, "alpha"), read_number(object, "min_shift")};
  request.design = {count("baseline"), count("candidate")};
  CTPROF_TRY_VALUE(auto about, parse_about_condition(object));
  request.about = std::move(about);
  if (request.design.baseline == 0 || request.design.candidate == 0)
    return Error{"needs baseline and candidate, each from 1 to " + std::to_string(kMaxHosts) +
                 " hosts"};
  if (!is_in_range(kAlpha, request.bar.alpha)) return Error{"needs alpha in the range of --alpha"};
  if (!is_in_range(kMinShift, request.bar.min_shift))
    return Error{"needs min_shift in the range of --min-shift"};
  return request;
}

// Assigns numbers to names of groups and metrics.
class NameTable {
 public:
  std::uint32_t find_or_add(std::string_view name) {
    const auto [place, is_new] =
        numbers_.try_emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(&place->first);
    return place->second;
  }
  const std::string& name(std::uint32_t number) const { return *names_[number]; }

 private:
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::vector<const std::string*> names_;
};

std::optional<FamilyCriterion> parse_criterion(std::string_view word) {
  if (word == "mean") return FamilyCriterion::Mean;
  if (word == "range") return FamilyCriterion::Range;
  if (word == "group") return FamilyCriterion::Group;
  return std::nullopt;
}

class Judge {
 public:
  explicit Judge(const JudgeRequest& request) : request_(request) {}

  Result<void> add(const std::string& line) {
    CTPROF_TRY_VALUE(const auto object, parse_object(line));
    const json::value *group = object.if_contains("group"), *metric = object.if_contains("metric"),
                      *criterion_name = object.if_contains("entry"),
                      *adds_up = object.if_contains("adds_up"),
                      *is_about_only = object.if_contains("beyond");
    if (!group || !group->is_string() || !metric || !metric->is_string())
      return Error{"needs strings for group and metric"};
    const auto criterion = criterion_name && criterion_name->is_string()
                               ? parse_criterion(criterion_name->get_string())
                               : std::optional<FamilyCriterion>();
    if (!criterion) return Error{"needs an \"entry\" of \"mean\", \"range\" or \"group\""};
    RowFigures row;
    row.group = groups_.find_or_add(group->get_string());
    row.metric = metrics_.find_or_add(metric->get_string());
    row.criterion = *criterion;
    row.floor = read_number(object, "floor");
    if (is_about_only && is_about_only->is_bool() && is_about_only->get_bool())
      about_only_groups_.insert(row.group);
    row.is_additive = !adds_up || !adds_up->is_bool() || adds_up->get_bool();
    if (!(row.floor >= 0) || std::isinf(row.floor)) return Error{"needs a floor of 0 or more"};
    // Optional, because older programs do not write it.
    if (const double resolution = read_number(object, "resolution"); std::isfinite(resolution))
      row.resolution = std::max(resolution, 0.0);
    return read_figures(object, std::move(row));
  }

  int print_results() {
    if (has_duplicate_rows()) return fail("fleet judge: a group has a metric twice");
    // Computes the number of hosts and the medians of each row before the figures are freed.
    std::map<RowFamily::Row, Sides> sides;
    for (const RowFigures& row : rows_)
      if (can_be_tested(row))
        sides.emplace(RowFamily::Row{row.group, row.metric}, summarize_sides(row));
    std::vector<RowFigures> about;
    for (const RowFigures& row : rows_)
      if (request_.about && matches_about(*request_.about, groups_.name(row.group)))
        about.push_back(row);
    std::erase_if(rows_,
                  [&](const RowFigures& row) { return about_only_groups_.contains(row.group); });
    const RowFamily family(std::move(rows_), request_.design, request_.bar.alpha);
    JsonWriter out(Escape::Unprintable);
    write_family(family, out);
    write_rows(family, sides, false, out);
    if (request_.about)
      write_rows(RowFamily(std::move(about), request_.design, request_.bar.alpha), sides, true,
                 out);
    return print(out.view());
  }

 private:
  struct Side {
    ctprof_number median;
    std::uint64_t host_count = 0;
  };
  using Sides = std::pair<Side, Side>;

  Result<void> read_figures(const json::object& object, RowFigures row) {
    const json::value* figures = object.if_contains("figures");
    const std::size_t hosts = request_.design.runs();
    if (!figures || !figures->is_array() || figures->get_array().size() != hosts)
      return Error{"needs " + std::to_string(hosts) + " figures, the baseline's first"};
    if (rows_.size() >= kMaxRows || (rows_.size() + 1) * hosts > kMaxFigures)
      return Error{"is beyond the limit of " + std::to_string(kMaxRows) + " rows, and " +
                   std::to_string(kMaxFigures) + " figures in all"};
    row.runs.reserve(hosts);
    for (const json::value& figure : figures->get_array()) {
      if (!figure.is_number() && !figure.is_null())
        return Error{"has a figure that is neither a number nor null"};
      row.runs.push_back(figure.is_null() ? std::nan("") : figure.to_number<double>());
    }
    rows_.push_back(std::move(row));
    return {};
  }

  bool has_duplicate_rows() const {
    std::map<RowFamily::Row, bool> seen;
    for (const RowFigures& row : rows_)
      if (!seen.emplace(RowFamily::Row{row.group, row.metric}, true).second) return true;
    return false;
  }

  static Side summarize_side(std::span<const double> figures) {
    std::vector<ctprof_number> numbers;
    for (const double figure : figures)
      if (!std::isnan(figure)) numbers.push_back(make_number(figure));
    const std::uint64_t host_count = numbers.size();
    return {median(std::move(numbers)), host_count};
  }
  Sides summarize_sides(const RowFigures& row) const {
    const std::span figures(row.runs);
    const std::size_t baseline = request_.design.baseline;
    return {summarize_side(figures.first(baseline)), summarize_side(figures.subspan(baseline))};
  }

  void write_family(const RowFamily& family, JsonWriter& out) const {
    const statistics::Labellings& labellings = family.family().labellings();
    const auto enough = statistics::compute_required_runs(request_.bar.alpha, false);
    out.put('{');
    out.member("rows", std::uint64_t{family.rows().size()});
    out.member("labellings", labellings.are_all() ? statistics::count_labellings(request_.design)
                                                  : std::uint64_t{labellings.size()});
    out.key("all");
    out.boolean(labellings.are_all());
    out.put(',');
    write(out, "smallest_p", statistics::compute_smallest_p(request_.design));
    out.key("enough_runs");
    enough ? out.number(std::uint64_t{*enough}) : out.raw("null");
    out.raw("}\n");
  }

  // Rows of the family of --about are marked, and follow the rows of all groups.
  void write_rows(const RowFamily& family, const std::map<RowFamily::Row, Sides>& sides,
                  bool is_about, JsonWriter& out) const {
    const auto proofs = family.results(request_.bar);
    for (std::size_t at = 0; at < proofs.size(); ++at)
      if (proofs[at])
        write_row(family.rows()[at], *proofs[at], sides.at(family.rows()[at]), is_about, out);
  }

  void write_row(const RowFamily::Row& row, const RowTestResult& proof, const Sides& sides,
                 bool is_about, JsonWriter& out) const {
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
    const RowTestResult relative = remove_floor(proof);
    out.raw("\"without_floor\":{");
    write(out, "shift", relative.shift);
    write(out, "low", relative.low);
    out.key("high");
    write_json(relative.high, out);
    out.raw("},");
    write(out, "p", proof.p);
    write(out, "p_alone", proof.unadjusted_p);
    out.key("proven");
    out.boolean(proof.is_significant);
    out.raw(",\"baseline\":");
    write_json(sides.first.median, out);
    out.raw(",\"candidate\":");
    write_json(sides.second.median, out);
    out.put(',');
    out.member("with_baseline", sides.first.host_count);
    out.member("with_candidate", sides.second.host_count);
    out.close('}');
    out.put('\n');
  }

  // Writes null if the number is not finite.
  static void write(JsonWriter& out, std::string_view key, double number) {
    out.key(key);
    write_json(number, out);
    out.put(',');
  }

  JudgeRequest request_;
  NameTable groups_, metrics_;
  std::vector<RowFigures> rows_;
  std::set<std::uint32_t> about_only_groups_;  // groups that belong only to the family of --about
};

int fail_at(const InputLines& input, const Error& error) {
  return fail("fleet judge: " + input.describe_position() + " " + error.text);
}

}  // namespace

int run_fleet_judge(std::span<const char* const> words) {
  if (!words.empty()) return fail("fleet judge reads only standard input");
  InputLines input;
  const auto first = input.read_line(kLineBytes);
  if (!first) return fail("fleet judge: " + first.error().text);
  if (!*first) return fail("fleet judge: standard input is empty");
  const auto request = parse_request(**first);
  if (!request) return fail_at(input, request.error());
  Judge judge(*request);
  const std::size_t max_line_bytes = kLineBytes + kFigureBytes * request->design.runs();
  for (;;) {
    const auto line = input.read_line(max_line_bytes);
    if (!line) return fail("fleet judge: " + line.error().text);
    if (!*line) return judge.print_results();
    if (auto added = judge.add(**line); !added) return fail_at(input, added.error());
  }
}

}  // namespace ctprof::cli
