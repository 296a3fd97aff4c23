#include "tools/ctprof/options/recorder_options.hpp"

#include <cstdlib>

#include "core/base/text.hpp"
#include "ctprof/files.hpp"

namespace ctprof::cli {
namespace {

enum class Waits { Blocked, All, Every };
constexpr std::array kWaits{Word{"blocked", Waits::Blocked}, Word{"all", Waits::All},
                            Word{"every", Waits::Every}};

}  // namespace

std::uint64_t parse_percent_as_ppm(std::string_view text) {
  constexpr double kPpmOfPercent = 1e4, kMaxPercent = 1e9;
  char* end = nullptr;
  const std::string whole(text);
  const double number = std::strtod(whole.c_str(), &end);
  const bool is_share = end != whole.c_str() && std::string_view(end) == "%";
  return is_share && number > 0 && number < kMaxPercent
             ? static_cast<std::uint64_t>(number * kPpmOfPercent)
             : 0;
}

std::uint64_t parse_scaled_number(std::string_view text) {
  constexpr std::string_view kUnits = "KMG";
  unsigned shift = 0;
  if (!text.empty())
    if (const auto unit = kUnits.find(text.back()); unit != kUnits.npos) {
      shift = 10 * (static_cast<unsigned>(unit) + 1);
      text.remove_suffix(1);
    }
  const auto number = sdk::number<std::uint64_t>(text);
  return number && number.value <= UINT64_MAX >> shift ? number.value << shift : 0;
}

Result<std::vector<std::string>> parse_recorders(const OptionUse& use) {
  std::vector<std::string> names;
  for (const std::string_view name : split(use.last())) names.emplace_back(sdk::trimmed(name));
  return names;
}

Result<void> WaitChoice::operator()(const OptionUse& use, RecordOptions& out) const {
  Waits waits{};
  CTPROF_TRY(OneOf<kWaits>()(use, waits));
  out.records_all_waits = waits != Waits::Blocked;
  out.records_every_stack = waits == Waits::Every;
  return {};
}

RecordOptions RecorderOptions::make_record_options() const {
  RecordOptions options = record;
  options.names = names;
  return options;
}

}  // namespace ctprof::cli
