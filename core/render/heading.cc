#include "core/render/heading.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/base/ladder.hpp"
#include "core/compare/asked/spec.hpp"
#include "core/render/host_text.hpp"
#include "core/render/printable.hpp"

namespace ctprof {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
// So many names of metrics are told; the file has all.
constexpr std::size_t kFewNames = 8;

std::string who(std::size_t side, std::size_t sides) {
  return sides == 1 ? "snapshot" : side_name(side);
}

// How far apart two captures of one boot began, by the clock that no one sets.
std::string apart(const Meta& a, const Meta& b) {
  const std::uint64_t x = a.start.boottime_ns, y = b.start.boottime_ns;
  return scaled(number_of(std::max(x, y) - std::min(x, y)), "ns") + " apart" +
         (y < x ? ", the candidate first" : "");
}

std::string relation(const Meta& a, const Meta& b) {
  std::string text;
  if (a.boot_id.empty() || b.boot_id.empty())
    text = "whether both are of one boot is not known";
  else if (of_one_boot(a, b))
    text = "same boot, " + apart(a, b);
  else
    text = a.hostname && b.hostname && a.hostname == b.hostname ? "same host, different boots"
                                                                : "different boots";
  if (a.hostname && b.hostname && a.hostname != b.hostname) text += ", different hosts";
  if (a.user_hz != b.user_hz)
    text += ", different clock ticks (" + std::to_string(a.user_hz) + " and " +
            std::to_string(b.user_hz) + " a second)";
  return text;
}

}  // namespace

std::string counted(std::uint64_t count, const std::string& noun) {
  const bool hiss = noun.ends_with("ss");
  return std::to_string(count) + " " + noun + (count == 1 ? "" : hiss ? "es" : "s");
}

std::string utc(std::uint64_t unix_ns) {
  const auto seconds = static_cast<time_t>(unix_ns / kNsPerSecond);
  tm parts{};
  std::array<char, 64> text{};
  if (!::gmtime_r(&seconds, &parts)) return "-";
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%SZ", &parts);
  return text.data();
}

std::string takeover_in_words(const Takeover& takeover) {
  const auto& metrics = takeover.metrics;
  std::string text = "plugin '" + takeover.plugin + "', which is not ctprof's own, filled " +
                     counted(metrics.size(), "metric") + " in place of ctprof's sources: ";
  for (std::size_t i = 0; i < std::min(metrics.size(), kFewNames); ++i)
    text += (i > 0 ? ", " : "") + metrics[i];
  if (metrics.size() > kFewNames) text += " and " + counted(metrics.size() - kFewNames, "other");
  return text;
}

std::string heading(const Report& report, std::span<const std::string> files,
                    const TextLayout& layout) {
  const auto sides = report.sides();
  TextTable table({{"", Align::Left, 0, false},
                   {"file", Align::Left, 12, false},
                   {"host", Align::Left, 8, true},
                   {"taken", Align::Left, 0, true},
                   {"threads", Align::Right, 0, false},
                   {"processes", Align::Right, 0, true}});
  for (std::size_t side = 0; side < sides.size(); ++side) {
    const RunFacts& run = sides[side];
    table.add({{who(side, sides.size())},
               {printable(files[side])},
               {run.meta.hostname ? told_name(*run.meta.hostname) : "-"},
               {utc(run.meta.start.wall_unix_ns)},
               {std::to_string(run.threads())},
               {std::to_string(run.processes())}});
  }
  std::string out;
  table.append_to(out, layout);
  for (std::size_t side = 0; side < sides.size(); ++side)
    for (const Takeover& takeover : sides[side].meta.takeovers)
      out += who(side, sides.size()) + ": " + printable(takeover_in_words(takeover)) + "\n";
  for (std::size_t side = 1; side < sides.size(); ++side)
    out +=
        (side > 1 ? side_name(side) + ": " : "") + relation(sides[0].meta, sides[side].meta) + "\n";
  return out + host_text(report, layout);
}

}  // namespace ctprof
