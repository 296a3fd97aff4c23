#include "core/render/evidence_text.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/compare/asked/spec.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/terminal_text.hpp"
#include "core/statistics/labellings.hpp"

namespace ctprof {
namespace {

template <class... Values>
std::string formatted(const char* format, Values... values) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

// Shifts of as much are told as factors.
constexpr double kFactorsFrom = 10;

// "+15" or "-3.1", of percent.
std::string signed_percent(double fraction) {
  const double percent = fraction * 100;
  return formatted(std::abs(percent) < 9.95 ? "%+.1f" : "%+.0f", percent);
}

std::string factor(double shift) { return formatted(shift < 99 ? "x%.1f" : "x%.3g", 1 + shift); }

// "8 + 8 runs", "8 pairs of runs".
std::string runs_in_words(const statistics::Design& design) {
  if (design.paired) return counted(design.baseline, "pair") + " of runs";
  return std::to_string(design.baseline) + " + " + std::to_string(design.candidate) + " runs";
}

// "all 256 ways to label them"
std::string labellings_in_words(const statistics::Labellings& labellings) {
  if (!labellings.are_all()) return std::to_string(labellings.size()) + " random labellings";
  return "all " + std::to_string(statistics::ways(labellings.design())) + " labellings";
}

std::string enough_in_words(const statistics::Design& design, double alpha) {
  const auto enough = statistics::enough_runs(alpha, design.paired);
  if (!enough) return "; no number of runs could";
  return "; " + std::to_string(*enough) + (design.paired ? " pairs" : " runs a side") + " would";
}

std::string judged(const Report& report, std::size_t side, const statistics::Family& family) {
  const statistics::Design& design = family.labellings().design();
  const Bar& bar = report.spec().bar;
  const std::string alpha = p_text(bar.alpha);
  const std::string who = report.sides().size() > 2 ? side_name(side) + ": " : "";
  if (statistics::smallest_p(design) > bar.alpha)
    return who + runs_in_words(design) + " cannot prove anything at " + alpha +
           enough_in_words(design, bar.alpha);
  std::string text =
      who + std::string(kNotProven) + ": not proven by " + runs_in_words(design) + " at " + alpha;
  if (bar.min_shift > 0)
    text += " to shift by " + formatted("%g", bar.min_shift * 100) + "% or more";
  return text + " (" + labellings_in_words(family.labellings()) + "; p is adjusted for " +
         counted(family.rows(), "row") + ", intervals are each row's own)";
}

const Evidence* evidence_of(const Report& report, bool of_screen) {
  Families& families = report.families();
  return of_screen ? families.headlines() : families.details();
}

}  // namespace

std::string shift_text(double shift) {
  if (!std::isfinite(shift)) return "-";
  return shift >= kFactorsFrom - 1 ? factor(shift) : signed_percent(shift) + "%";
}

std::string shift_text(const Proof& proof) {
  const std::string text = shift_text(proof.shift);
  if (!std::isfinite(proof.low) || !std::isfinite(proof.high)) return text;
  const bool is_much = proof.shift >= kFactorsFrom - 1;
  const auto end = [&](double shift) { return is_much ? factor(shift) : signed_percent(shift); };
  return text + " (" + end(proof.low) + " to " + end(proof.high) + ")";
}

std::string p_text(double p) { return formatted(p < 0.001 ? "%.1g" : "%.2g", p); }

std::string evidence_text(const Report& report, bool of_screen, std::size_t width) {
  std::string out;
  const Evidence* evidence = evidence_of(report, of_screen);
  for (std::size_t side = 1; evidence && side < report.sides().size(); ++side)
    if (const statistics::Family* family = evidence->family(side))
      out += wrapped(judged(report, side, *family), width);
  return out;
}

std::string order_text(const Report& report, std::size_t width) {
  std::string out;
  for (std::size_t side = 1; side < report.sides().size(); ++side) {
    const auto& design = report.families().design(side);
    if (!design || !are_one_after_other(report.runs(0), report.runs(side))) continue;
    out += wrapped("all runs of the " + side_name(0) + " and of the " + side_name(side) +
                       " were taken one side after the other: whatever else changed with time "
                       "differs too (record --interleave takes them in turns)",
                   width);
  }
  return out;
}

}  // namespace ctprof
