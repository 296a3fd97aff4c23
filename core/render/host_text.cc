#include "core/render/host_text.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "core/base/number.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

using HostFigure = std::optional<double>;
using HostFigureReader = std::function<HostFigure(const RunFacts&)>;

HostFigureReader make_load_reader(HostFigure HostLoad::*part, double scale = 1) {
  return [=](const RunFacts& run) {
    const HostFigure& figure = run.window->load.*part;
    return figure ? HostFigure(*figure * scale) : HostFigure();
  };
}

std::string format_one_decimal(double figure) { return format_fixed(figure, 1); }

// Returns "1.3", or "0.4→4.1", or "?→4.1" if a side lacks the figure; empty if all lack it.
std::string format_figure(std::span<const RunFacts> sides, const HostFigureReader& figure,
                          std::string (*format)(double) = format_short) {
  std::vector<std::string> texts;
  bool is_any_known = false;
  for (const RunFacts& run : sides) {
    const HostFigure value = figure(run);
    is_any_known = is_any_known || value;
    texts.push_back(value ? format(*value) : "?");
  }
  if (!is_any_known) return {};
  std::string text = texts.front();
  if (std::ranges::count(texts, text) == static_cast<std::ptrdiff_t>(texts.size())) return text;
  for (std::size_t side = 1; side < texts.size(); ++side) text += "→" + texts[side];
  return text;
}

constexpr double kGib = 1 << 30;

std::string format_memory(std::span<const RunFacts> sides) {
  const HostFigureReader all = [](const RunFacts& run) {
    const HostFigure bytes = host_memory_bytes(run);
    return bytes ? HostFigure(*bytes / kGib) : HostFigure();
  };
  const HostFigureReader used = [&](const RunFacts& run) {
    const HostFigure bytes = host_memory_bytes(run), available = run.window->load.memory_available;
    return bytes && available ? HostFigure(std::max(*bytes - *available, 0.0) / kGib)
                              : HostFigure();
  };
  const std::string text = format_figure(sides, used, format_one_decimal);
  return text.empty()
             ? ""
             : "mem " + text + " of " + format_figure(sides, all, format_one_decimal) + " GiB";
}

std::string format_pressure(std::span<const RunFacts> sides) {
  std::string text;
  for (const auto& [word, part] : {std::pair(" cpu ", &HostLoad::cpu_pressure),
                                   {" io ", &HostLoad::io_pressure},
                                   {" mem ", &HostLoad::memory_pressure}})
    if (const std::string known = format_figure(sides, make_load_reader(part, 100)); !known.empty())
      text += word + known;
  return text.empty() ? "" : "pressure" + text + " %";
}

std::string add_affixes(const std::string& before, const std::string& text, const char* after) {
  return text.empty() ? "" : before + text + after;
}

}  // namespace

std::string format_host_load(std::span<const RunFacts> sides, std::size_t width) {
  std::string text;
  for (const std::string& part :
       {format_memory(sides), format_pressure(sides),
        add_affixes("iowait ", format_figure(sides, make_load_reader(&HostLoad::iowait, 100)),
                    " %"),
        add_affixes("load ", format_figure(sides, make_load_reader(&HostLoad::load)), ""),
        add_affixes("throttled ", format_figure(sides, make_load_reader(&HostLoad::throttled, 100)),
                    " %")})
    if (!part.empty()) text += (text.empty() ? "" : "   ") + part;
  if (text.empty()) return {};
  return width == 0 || get_display_width(text) <= width ? text + "\n" : wrap_words(text, width);
}

void write_host_load(JsonBuilder& json, const RunFacts& run) {
  const HostLoad& load = run.window->load;
  json.key("host_load");
  json.open('{');
  const auto member = [&](std::string_view name, const HostFigure& figure) {
    json.key(name);
    json.number(figure.value_or(kNaN));
  };
  member("memory_bytes", host_memory_bytes(run));
  member("memory_available_bytes", load.memory_available);
  member("cpu_pressure", load.cpu_pressure);
  member("io_pressure", load.io_pressure);
  member("memory_pressure", load.memory_pressure);
  member("iowait", load.iowait);
  member("load", load.load);
  member("throttled", load.throttled);
  member("disk_bytes_per_second", load.disk_bytes);
  member("disk_busy", load.disk_busy);
  json.close('}');
}

}  // namespace ctprof
