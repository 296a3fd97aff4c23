#include "core/render/evidence_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/base/text.hpp"
#include "core/compare/request/spec.hpp"
#include "core/render/phrases.hpp"
#include "core/render/terminal_text.hpp"
#include "core/statistics/labellings.hpp"

namespace ctprof {
namespace {

template <class... Values>
std::string format_number(const char* format, Values... values) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

constexpr std::string_view kSingleRun =
    " cannot show which differences are significant: record several with `ctprof record --repeat "
    "8 -o DIR`";

// Shifts from this factor on are shown as factors.
constexpr double kMinFactor = 10;

// Returns a fraction in percent, such as "+15" or "-3.1".
std::string format_signed_percent(double fraction) {
  const double percent = fraction * 100;
  return format_number(std::abs(percent) < 9.95 ? "%+.1f" : "%+.0f", percent);
}

std::string format_factor(double shift) {
  return format_number(shift < 99 ? "x%.1f" : "x%.3g", 1 + shift);
}

// Returns "8 + 8 runs" or "8 pairs of runs".
std::string describe_design(const statistics::Design& design) {
  if (design.is_paired) return format_count(design.baseline, "pair") + " of runs";
  return std::to_string(design.baseline) + " + " + std::to_string(design.candidate) + " runs";
}

// Returns text such as "all 256 labellings".
std::string describe_labellings(const statistics::Labellings& labellings) {
  if (!labellings.are_all()) return std::to_string(labellings.size()) + " random labellings";
  return "all " + std::to_string(statistics::count_labellings(labellings.design())) + " labellings";
}

std::string describe_required_runs(const statistics::Design& design, double alpha) {
  const auto enough = statistics::compute_required_runs(alpha, design.is_paired);
  if (!enough) return "; no number of runs is enough";
  return "; " + std::to_string(*enough) + (design.is_paired ? " pairs are" : " runs per side are") +
         " enough";
}

// Returns why rows with a small p are not marked as significant.
std::string describe_hidden_rows(const Report& report, std::size_t side, const Evidence& evidence) {
  const SignificanceThreshold& threshold = report.spec().significance;
  const std::size_t hidden = threshold.min_shift > 0 ? evidence.count_below_min_shift(side) : 0;
  if (hidden == 0) return {};
  return "; " + format_count(hidden, "row") + " with p of at most " + format_p(threshold.alpha) +
         (hidden == 1 ? " is" : " are") + " not significant only because of --min-shift " +
         format_number("%g", threshold.min_shift * 100) + "%";
}

std::string describe_tests(const Report& report, std::size_t side,
                           const statistics::Family& family) {
  const statistics::Design& design = family.labellings().design();
  const SignificanceThreshold& threshold = report.spec().significance;
  const std::string alpha = format_p(threshold.alpha);
  const std::string side_prefix = report.sides().size() > 2 ? side_name(side) + ": " : "";
  if (statistics::compute_smallest_p(design) > threshold.alpha)
    return side_prefix + describe_design(design) + " are too few for a significant difference at " +
           alpha + describe_required_runs(design, threshold.alpha);
  std::string text = side_prefix + std::string(kNotSignificant) + ": not significant with " +
                     describe_design(design) + " at " + alpha;
  if (threshold.min_shift > 0)
    text += " for a shift of " + format_number("%g", threshold.min_shift * 100) + "% or more";
  return text + " (" + describe_labellings(family.labellings()) + "; p is adjusted for " +
         format_count(family.rows(), "row") + ", the " +
         format_number("%g", 100 * (1 - threshold.alpha)) + "% intervals are not)";
}

const Evidence* get_evidence(const Report& report, bool of_screen) {
  Families& families = report.families();
  return of_screen ? families.headlines() : families.get_details_evidence();
}

// Returns whether any side has enough runs for a significant result.
bool can_be_significant(const Report& report) {
  return std::ranges::any_of(report.families().designs(), [&](const auto& design) {
    return design &&
           statistics::compute_smallest_p(design->design) <= report.spec().significance.alpha;
  });
}

bool is_any_significant(const Report& report, bool of_screen) {
  if (!of_screen) return report.families().has_significant_detail();
  return std::ranges::any_of(report.screen()->rows, &ScreenRow::is_significant);
}

// Returns text such as "--about group == "svc": 2 of 7 rows are significant by 8 pairs of runs
// ...".
std::string describe_about_side(const Report& report, std::size_t side, const Evidence& evidence,
                                const statistics::Family& family) {
  const SignificanceThreshold& threshold = report.spec().significance;
  const auto test_results = evidence.results(side);
  const auto significant_count = static_cast<std::size_t>(std::ranges::count_if(
      test_results, [](const auto& proof) { return proof && proof->is_significant; }));
  std::string text =
      "--about " + make_printable(report.spec().about->text()) + ": " +
      (report.sides().size() > 2 ? side_name(side) + ": " : "") +
      std::to_string(significant_count) + " of " + format_count(family.rows(), "row") +
      (significant_count == 1 ? " is" : " are") + " significant by " +
      describe_design(family.labellings().design()) + " at " + format_p(threshold.alpha) +
      " (p is adjusted for these " + format_count(family.rows(), "row") + " only)" +
      describe_hidden_rows(report, side, evidence);
  if (report.may_about_follow_comparison())
    text +=
        "; these runs were compared before without this --about: if that result "
        "led to this selection, p is too small: record new runs";
  return text;
}

}  // namespace

std::string format_shift(double shift) {
  if (!std::isfinite(shift)) return "-";
  return shift >= kMinFactor - 1 ? format_factor(shift) : format_signed_percent(shift) + "%";
}

std::string format_shift(const RowTestResult& test_result) {
  const std::string text = format_shift(test_result.shift);
  if (!std::isfinite(test_result.low) || !std::isfinite(test_result.high)) return text;
  std::string low = format_bound(test_result, test_result.low),
              high = format_bound(test_result, test_result.high);
  for (std::string* end : {&low, &high})
    if (end->ends_with('%')) end->pop_back();
  return text + " (" + low + " to " + high + ")";
}

std::string format_bound(const RowTestResult& proof, double bound) {
  return proof.shift >= kMinFactor - 1 ? format_factor(bound) : format_signed_percent(bound) + "%";
}

std::string describe_run_order(const Report& report, std::size_t side) {
  const auto& design = report.families().design(side);
  if (!design || !are_separate_in_time(report.runs(0), report.runs(side))) return {};
  return "all runs of the " + side_name(0) + " and of the " + side_name(side) +
         " were taken one side after the other: other changes over time can cause differences "
         "(record --interleave alternates the sides)";
}

std::string format_p(double p) { return format_number(p < 0.001 ? "%.1g" : "%.2g", p); }

std::string describe_evidence(const Report& report, bool is_for_screen, std::size_t width) {
  std::string out;
  const Evidence* evidence = get_evidence(report, is_for_screen);
  for (std::size_t side = 1; evidence && side < report.sides().size(); ++side)
    if (const statistics::Family* family = evidence->family(side))
      out += wrap_words(
          describe_tests(report, side, *family) + describe_hidden_rows(report, side, *evidence),
          width);
  if (evidence && can_be_significant(report) && !is_any_significant(report, is_for_screen))
    out += wrap_words(
        "no row is significant; rows are ordered by their unadjusted p. To test only one group, "
        "record new runs, then use --about",
        width);
  return out;
}

std::string describe_about_evidence(const Report& report, std::size_t width) {
  const Evidence* evidence = report.families().get_about_evidence();
  if (!evidence) return {};
  std::string out;
  for (std::size_t side = 1; side < report.sides().size(); ++side)
    if (const statistics::Family* family = evidence->family(side))
      out += wrap_words(describe_about_side(report, side, *evidence, *family), width);
  return out;
}

std::string describe_single_runs(const Report& report, std::size_t width) {
  const bool are_windows = report.sides().front().window.has_value();
  for (std::size_t side = 0; report.is_comparison() && are_windows && side < report.sides().size();
       ++side)
    if (report.runs(side).size() == 1)
      return wrap_words((has_several_runs(report) ? "a side of one run" : "one run per side") +
                            std::string(kSingleRun),
                        width);
  return {};
}

std::string format_order_notes(const Report& report, std::size_t width) {
  if (!describe_single_runs(report, width).empty()) return {};
  std::string out;
  for (std::size_t side = 1; side < report.sides().size(); ++side) {
    const std::string sentence = describe_run_order(report, side);
    if (!sentence.empty()) out += wrap_words(sentence, width);
  }
  return out;
}

}  // namespace ctprof
