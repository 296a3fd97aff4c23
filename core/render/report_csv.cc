#include "core/render/report_csv.hpp"

#include <array>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/json_text.hpp"
#include "core/compare/figures/allowance.hpp"
#include "core/render/printable.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kFlushAt = 64 * 1024;

std::string quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

// A number as JSON has it; nothing for none.
template <class Number>
std::string digits(const Number& number) {
  std::string json;
  append_json(json, number);
  return json == "null" ? "" : json;
}

// What stands in the columns of values, of a metric or of one key of it.
struct Figures {
  std::string_view key, unit;
  std::array<std::string, kMostSides> of;
  std::string delta, pct;
};

class Writer {
 public:
  Writer(const Report& report, Sink& sink)
      : report_(&report), sink_(&sink), sides_(report.sides().size()), allowance_(report.sides()) {}

  Result<std::size_t> write() {
    write_header();
    for (const Section& section : report_->sections())
      for (const RowAt row : section.rows) write_row(row, std::nullopt);
    for (std::size_t side = 0; compares() && side < sides_; ++side)
      for (const std::uint32_t group : report_->only(side).groups)
        for (const std::uint32_t metric : report_->weightiest(side, group))
          write_row({group, metric}, side);
    for (const RowAt row : report_->failed().rows)
      if (!told_.contains({row.group, row.metric})) write_row(row, only_side(row));
    hand_on();
    if (!handed_on_) return handed_on_.error();
    return left_out_;
  }

 private:
  bool compares() const { return sides_ == 2; }
  bool has_three_keys() const { return report_->spec().group_by == GroupBy::All; }

  void write_header() {
    if (compares()) field("side");
    field("section");
    for (const char* key :
         has_three_keys() ? std::vector{"cgroup", "pcomm", "comm"} : std::vector{"group"})
      field(key);
    for (const char* name : {"metric", "key", "unit"}) field(name);
    const auto names = compares() ? std::vector{"baseline",
                                                "candidate",
                                                "delta",
                                                "pct",
                                                "threads_baseline",
                                                "threads_candidate",
                                                "values_baseline",
                                                "rows_baseline",
                                                "values_candidate",
                                                "rows_candidate"}
                                  : std::vector{"value", "threads", "values", "rows"};
    for (const char* name : names) field(name);
    if (compares()) write_header_of_changes();
    end_line();
  }

  void write_header_of_changes() {
    for (const char* name :
         {"delta_alive", "delta_new", "delta_gone", "threads_alive", "threads_new", "threads_gone"})
      field(name);
    if (report_->spec().rate) field("rate");
    if (tells_failed()) field("failed");
  }

  bool tells_failed() const { return !report_->spec().fail_on.empty(); }

  // The side that alone has the row's group.
  std::optional<std::size_t> only_side(RowAt row) const {
    if (report_->metrics()[row.metric].entity == Entity::Host) return {};
    const bool before = report_->grouping().has(0, row.group),
               after = report_->grouping().has(1, row.group);
    return before == after ? std::nullopt : std::optional<std::size_t>(before ? 0 : 1);
  }

  // `only`: the one side that has the group.
  void write_row(RowAt row, std::optional<std::size_t> only) {
    if (allowance_.is_spent()) return void(++left_out_);
    const PlannedMetric& metric = report_->metrics()[row.metric];
    if (tells_failed() && report_->fails(row)) told_.emplace(row.group, row.metric);
    const auto parts = parts_of(row, metric, only);
    for (const Figures& figures : parts) write_line(row, only, figures);
    if (parts.empty()) write_line(row, only, whole(row, metric));
  }

  // Of a map, key by key; of anything else, and of a map without a reading, none.
  std::vector<Figures> parts_of(RowAt row, const PlannedMetric& metric,
                                std::optional<std::size_t> only) const {
    std::vector<Figures> parts;
    if (compares() && !only) {
      for (const PartChange& part : report_->changes().parts(row.group, row.metric))
        parts.push_back({part.key,
                         unit_of(part.unit, metric),
                         {digits(part.baseline), digits(part.candidate)},
                         digits(part.difference),
                         digits(part.pct)});
      return parts;
    }
    const std::size_t side = only.value_or(0);
    report_->rollup().parts({side, row.group, row.metric}, [&](const Part& part) {
      parts.push_back({part.key, unit_of(part.unit, metric), {}, {}, {}});
      parts.back().of[side] = digits(part.number);
    });
    return parts;
  }

  static std::string_view unit_of(std::string_view of_part, const PlannedMetric& metric) {
    return unit_told(of_part.empty() ? std::string_view(metric.unit) : of_part);
  }

  Figures whole(RowAt row, const PlannedMetric& metric) const {
    Figures figures{{}, unit_told(metric.unit), {}, {}, {}};
    for (std::size_t side = 0; side < sides_; ++side)
      figures.of[side] = value({side, row.group, row.metric});
    if (!compares() || report_->rollup().has_parts(row.metric)) return figures;
    const Change change = report_->changes().of(row.group, row.metric);
    figures.delta = change.difference.known() ? digits(change.difference) : printable(change.word);
    figures.pct = digits(change.pct);
    return figures;
  }

  // What JSON tells as a plain number or word stays that; what it needs an object for is the text.
  std::string value(CellAt at) const {
    std::string json;
    report_->rollup().append_json(json, at);
    if (json == "null") return {};
    const bool is_plain = json.front() != '{' && json.front() != '[' && json.front() != '"';
    if (is_plain) return json;
    return json == "\"max\"" ? "max" : printable(report_->rollup().text(at));
  }

  void write_line(RowAt row, std::optional<std::size_t> only, const Figures& figures) {
    const PlannedMetric& metric = report_->metrics()[row.metric];
    if (compares()) field(!only ? "both" : *only == 0 ? "baseline" : "candidate");
    field(printable(metric.section));
    write_group(report_->grouping().name(metric.entity, row.group));
    field(printable(metric.name));
    field(printable(figures.key));
    field(printable(figures.unit));
    for (std::size_t side = 0; side < sides_; ++side) field(figures.of[side]);
    if (compares()) field(figures.delta), field(figures.pct);
    for (std::size_t side = 0; side < sides_; ++side) field(std::to_string(threads(side, row)));
    for (std::size_t side = 0; side < sides_; ++side) {
      const Coverage coverage = report_->rollup().read({side, row.group, row.metric}).coverage;
      field(std::to_string(coverage.values));
      field(std::to_string(coverage.rows));
    }
    if (compares()) write_change(row);
    end_line();
  }

  // What JSON says of the whole row beside its figures.
  void write_change(RowAt row) {
    const auto origin = report_->origins().of(row.group, row.metric);
    for (const auto part : {&Origin::alive, &Origin::fresh, &Origin::gone})
      field(origin ? digits((*origin).*part) : "");
    const bool is_host = report_->metrics()[row.metric].entity == Entity::Host;
    const auto turnover =
        is_host ? report_->lives().in_all() : report_->lives().in_group(row.group);
    for (const auto count : {&Turnover::alive, &Turnover::fresh, &Turnover::gone})
      field(turnover ? std::to_string((*turnover).*count) : "");
    if (report_->spec().rate)
      field(digits(report_->rates().of(row.group, row.metric,
                                       report_->changes().of(row.group, row.metric).difference)));
    if (tells_failed()) field(report_->fails(row) ? "true" : "false");
  }

  void write_group(std::string_view name) {
    const auto parts = key_parts(name);
    for (std::size_t i = 0; i < (has_three_keys() ? 3 : 1); ++i)
      field(i < parts.size() ? printable(parts[i]) : "");
  }

  std::uint64_t threads(std::size_t side, RowAt row) const {
    if (report_->metrics()[row.metric].entity == Entity::Host)
      return report_->sides()[side]->threads().rows;
    return report_->grouping().sides[side].threads(row.group);
  }

  void field(std::string_view text) {
    if (!at_line_begin_) out_ += ',';
    at_line_begin_ = false;
    out_ += quoted(text);
  }
  void end_line() {
    out_ += '\n';
    at_line_begin_ = true;
    allowance_.spend(out_.size() - paid_);
    paid_ = out_.size();
    if (out_.size() < kFlushAt) return;
    hand_on();
    paid_ = 0;
  }
  // After a failure nothing more.
  void hand_on() {
    if (handed_on_) handed_on_ = sink_->write(out_);
    out_.clear();
  }

  const Report* report_;
  Sink* sink_;
  Result<void> handed_on_;
  std::size_t sides_;
  bool at_line_begin_ = true;
  std::string out_;
  Allowance allowance_;
  std::size_t paid_ = 0;                                    // bytes of `out_` that are spent of it
  std::size_t left_out_ = 0;                                // rows that it had no room for
  std::set<std::pair<std::uint32_t, std::uint32_t>> told_;  // rows that fail, by group and metric
};

}  // namespace

Result<std::size_t> write_report_csv(const Report& report, Sink& sink) {
  return Writer(report, sink).write();
}

}  // namespace ctprof
