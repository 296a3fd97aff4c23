#include "core/render/phrases.hpp"

#include <time.h>

#include <algorithm>
#include <array>

#include "core/base/clock.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMaxTakeoverMetrics = 8;

}  // namespace

std::string format_utc(std::uint64_t unix_ns) {
  const auto seconds = static_cast<time_t>(unix_ns / kNsPerSecond);
  tm parts{};
  std::array<char, 64> text{};
  if (!::gmtime_r(&seconds, &parts)) return "-";
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%SZ", &parts);
  return text.data();
}

std::string describe_takeover(const Takeover& takeover) {
  const auto& metrics = takeover.metrics;
  std::string text = "plugin '" + takeover.plugin + "', which is not ctprof's own, filled " +
                     format_count(metrics.size(), "metric") + " in place of ctprof's sources: ";
  for (std::size_t i = 0; i < std::min(metrics.size(), kMaxTakeoverMetrics); ++i)
    text += (i > 0 ? ", " : "") + metrics[i];
  if (metrics.size() > kMaxTakeoverMetrics)
    text += " and " + format_count(metrics.size() - kMaxTakeoverMetrics, "other");
  return text;
}

}  // namespace ctprof
