#include "core/tables/metric_family.hpp"

#include <algorithm>
#include <array>

namespace ctprof {
namespace {

// To add a unit, add a line. `suffixes` are suffixes of metric names that state the unit.
struct BaseUnit {
  std::string_view unit;
  std::string_view base;
  double scale;  // 0: depends on the host's clock ticks
  std::array<std::string_view, 2> suffixes{};
};
constexpr std::array kBaseUnits{
    BaseUnit{"ns", "seconds", 1e-9, {"_ns"}},
    BaseUnit{"us", "seconds", 1e-6, {"_usec", "_us"}},
    BaseUnit{"ticks", "seconds", 0, {"_clock_ticks", "_ticks"}},
    BaseUnit{"bytes", "bytes", 1, {"_bytes"}},
    BaseUnit{"kib", "bytes", 1024, {"_kib"}},
    BaseUnit{"centipercent", "ratio", 1e-2},  // its rule gives percentages
    BaseUnit{"percent", "ratio", 1e-2, {"_percent"}},
    BaseUnit{"ratio", "ratio", 1, {"_ratio"}},
    BaseUnit{"count", "", 1},
    BaseUnit{"none", "", 1},
    BaseUnit{"", "", 1},
};

bool remove_suffix(std::string& text, std::string_view end) {
  if (end.empty() || !text.ends_with(end) || text.size() == end.size()) return false;
  text.resize(text.size() - end.size());
  return true;
}

// Replaces suffixes that readers interpret as parts of a histogram, or that every counter has.
void replace_reserved_suffix(std::string& name, bool adds_up) {
  remove_suffix(name, "_total");
  if (remove_suffix(name, "_count")) name += adds_up ? "_events" : "s";
  if (name.ends_with("_sum") || name.ends_with("_bucket")) name += "_value";
}

std::string make_help(std::string_view metric, bool adds_up, CounterForm counted) {
  std::string help(metric);
  if (adds_up && counted == CounterForm::PerSecond) help += ", per second of the window";
  if (adds_up && counted == CounterForm::Total) help += ", since this server was started";
  if (adds_up && counted == CounterForm::Lifetime) help += " of living threads, since they started";
  return help + "; see ctprof help " + std::string(metric);
}

}  // namespace

std::string make_label_name(std::string_view name) {
  std::string label;
  for (const char c : name) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9' && !label.empty());
    label += is_plain ? c : '_';
  }
  return label.empty() ? "_" : label;
}

NamedFamily make_family(std::string_view metric, std::string_view unit, bool is_counter,
                        CounterForm counted, double user_hz) {
  const auto known = std::ranges::find(kBaseUnits, unit, &BaseUnit::unit);
  std::string name = make_label_name(metric), base = make_label_name(unit);
  NamedFamily named;
  if (known != kBaseUnits.end()) {
    for (const std::string_view mark : known->suffixes)
      if (remove_suffix(name, mark)) break;
    base = known->base;
    named.scale = known->scale > 0 ? known->scale : 1 / user_hz;
  }
  if (base.empty() || !is_counter) replace_reserved_suffix(name, is_counter);
  remove_suffix(name, "_total");
  if (!base.empty()) name += "_" + base;
  const bool is_lifetime = is_counter && counted == CounterForm::Lifetime;
  const bool is_rate = is_counter && counted == CounterForm::PerSecond;
  named.family.name = std::string("ctprof_") + (is_lifetime ? "lifetime_" : "") + name +
                      (is_rate ? "_per_second" : "");
  named.family.unit = is_rate ? "" : base;
  named.family.type =
      is_counter && counted == CounterForm::Total ? SeriesType::Counter : SeriesType::Gauge;
  named.family.help = make_help(metric, is_counter, counted);
  return named;
}

}  // namespace ctprof
