#include "plugins/outputs/otlp/metrics_message.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace ctprof::otlp {
namespace {

using Writer = protozero::pbf_writer;

// Field numbers.
enum Request { kResourceMetrics = 1 };
enum ResourceMetrics { kResource = 1, kScopeMetrics = 2 };
enum Resource { kResourceAttributes = 1 };
enum ScopeMetrics { kScope = 1, kMetrics = 2 };
enum Scope { kScopeName = 1, kScopeVersion = 2 };
enum Metric { kName = 1, kUnit = 3, kGauge = 5, kSum = 7 };
enum Points { kDataPoints = 1, kTemporality = 2, kIsMonotonic = 3 };
enum Point { kStartTime = 2, kTime = 3, kAsDouble = 4, kAsInt = 6, kAttributes = 7 };
enum KeyValue { kKey = 1, kValue = 2 };
enum AnyValue { kStringValue = 1 };

constexpr int kCumulative = 2;  // AGGREGATION_TEMPORALITY_CUMULATIVE

// The unit in UCUM, and the factor of its values. An unknown unit is kept.
struct Unit {
  std::string_view unit, ucum;
  double scale = 1;  // 0: depends on the ticks per second
};
constexpr std::array kUnits{
    Unit{"bytes", "By"},  Unit{"kib", "KiBy"},       Unit{"ticks", "s", 0}, Unit{"count", "1"},
    Unit{"percent", "%"}, Unit{"centipercent", "%"}, Unit{"ratio", "1"},    Unit{"none", "1"},
};

Unit convert_unit(std::string_view unit, std::uint32_t user_hz) {
  for (Unit known : kUnits)
    if (known.unit == unit) {
      if (known.scale == 0) known.scale = 1.0 / (user_hz > 0 ? user_hz : 100);
      return known;
    }
  return {unit, unit};
}

// Returns the length of the valid UTF-8 character at the start of the text; 0 if it is invalid.
std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool is_too_long = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool is_outside = (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
  return is_too_long || is_outside ? 0 : size;
}

// Replaces each invalid byte by U+FFFD: a string of protobuf must be UTF-8.
std::string make_utf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    valid += size > 0 ? text.substr(0, size) : std::string_view("\xef\xbf\xbd");
    text.remove_prefix(size > 0 ? size : 1);
  }
  return valid;
}

void put_attribute(Writer& parent, int field, std::string_view key, std::string_view value) {
  Writer attribute(parent, static_cast<protozero::pbf_tag_type>(field));
  attribute.add_string(kKey, make_utf8(key));
  Writer(attribute, kValue).add_string(kStringValue, make_utf8(value));
}

std::string_view text_of(const ctprof_text& text) { return {text.data, text.size}; }

class MessageMaker {
 public:
  MessageMaker(const ctprof_output_window& window, Totals& totals)
      : window_(window), totals_(totals) {}

  std::string make() {
    std::string message;
    Writer request(message);
    put_resource_metrics(request);
    return message;
  }

 private:
  // The destructor of a nested writer writes its length.
  void put_resource_metrics(Writer& request) {
    Writer resource_metrics(request, kResourceMetrics);
    put_resource(resource_metrics);
    Writer scope_metrics(resource_metrics, kScopeMetrics);
    put_scope(scope_metrics);
    for (std::uint32_t i = 0; i < window_.tables.count; ++i)
      put_table(scope_metrics, *CTPROF_ITEM(ctprof_output_table, window_.tables, i));
  }

  void put_resource(Writer& parent) {
    Writer resource(parent, kResource);
    put_attribute(resource, kResourceAttributes, "service.name", "ctprof");
    if (window_.host[0] != '\0')
      put_attribute(resource, kResourceAttributes, "host.name", window_.host);
  }

  void put_scope(Writer& parent) {
    Writer scope(parent, kScope);
    scope.add_string(kScopeName, "ctprof");
    scope.add_string(kScopeVersion, window_.producer);
  }

  // A metric with several keys occupies consecutive columns, which become points of one metric if
  // they have the same unit and kind.
  void put_table(Writer& scope, const ctprof_output_table& table) {
    for (std::uint32_t first = 0, next = 0; first < table.metrics.count; first = next) {
      const auto& metric = *CTPROF_ITEM(ctprof_output_metric, table.metrics, first);
      for (next = first + 1; next < table.metrics.count; ++next)
        if (!is_same_metric(metric, *CTPROF_ITEM(ctprof_output_metric, table.metrics, next))) break;
      put_metric(scope, table, first, next);
    }
  }

  static bool is_same_metric(const ctprof_output_metric& a, const ctprof_output_metric& b) {
    return std::string_view(a.name) == b.name && std::string_view(a.unit) == b.unit &&
           a.flags == b.flags;
  }

  void put_metric(Writer& scope, const ctprof_output_table& table, std::uint32_t first,
                  std::uint32_t next) {
    const auto& metric = *CTPROF_ITEM(ctprof_output_metric, table.metrics, first);
    const bool is_sum = (metric.flags & CTPROF_OUTPUT_INCREASE) != 0;
    const bool is_rate = (metric.flags & CTPROF_OUTPUT_PER_SECOND) != 0;
    unit_ = convert_unit(metric.unit, window_.user_hz);
    std::string text;
    Writer points(text);
    for (std::uint32_t row = 0; row < table.rows.count; ++row)
      for (std::uint32_t column = first; column < next; ++column)
        put_point(points, table, row, column);
    if (text.empty()) return;
    if (is_sum) {
      points.add_enum(kTemporality, kCumulative);
      points.add_bool(kIsMonotonic, true);
    }
    Writer message(scope, kMetrics);
    message.add_string(kName, std::string("ctprof.") + metric.name);
    const std::string unit = std::string(unit_.ucum) + (is_rate ? "/s" : "");
    if (!unit.empty()) message.add_string(kUnit, unit);
    message.add_message(is_sum ? kSum : kGauge, text);
  }

  void put_point(Writer& points, const ctprof_output_table& table, std::uint32_t row_number,
                 std::uint32_t column) {
    const auto& row = *CTPROF_ITEM(ctprof_output_row, table.rows, row_number);
    const auto& metric = *CTPROF_ITEM(ctprof_output_metric, table.metrics, column);
    ctprof_number number = CTPROF_ITEM(ctprof_output_cell, row.cells, column)->number;
    if (number.kind == CTPROF_NUMBER_NONE) return;
    Writer point(points, kDataPoints);
    if ((metric.flags & CTPROF_OUTPUT_INCREASE) != 0) {
      const Total total = totals_.add(name_series(metric, row), number);
      point.add_fixed64(kStartTime, total.start_ns);
      number = total.value;
    }
    point.add_fixed64(kTime, window_.end_ns);
    put_number(point, number, std::string_view(metric.family) == "limit");
    for (std::uint32_t i = 0; i < row.labels.count; ++i)
      put_attribute(point, kAttributes, *CTPROF_ITEM(const char*, table.label_names, i),
                    text_of(*CTPROF_ITEM(ctprof_text, row.labels, i)));
    put_key(point, metric);
  }

  // The key of a map as its labels, or as one attribute.
  static void put_key(Writer& point, const ctprof_output_metric& metric) {
    const ctprof_array labels = ctprof_get_key_labels(&metric);
    for (std::uint32_t i = 0; i < labels.count; ++i) {
      const auto& label = *CTPROF_ITEM(ctprof_output_label, labels, i);
      put_attribute(point, kAttributes, label.name, text_of(label.value));
    }
    if (labels.count == 0 && metric.key[0] != '\0')
      put_attribute(point, kAttributes, "key", metric.key);
  }

  static std::string name_series(const ctprof_output_metric& metric, const ctprof_output_row& row) {
    std::string series = std::string(metric.name) + '\0' + metric.key;
    for (std::uint32_t i = 0; i < row.labels.count; ++i) {
      const auto label = text_of(*CTPROF_ITEM(ctprof_text, row.labels, i));
      series += '\0' + std::to_string(label.size()) + ':';
      series += label;
    }
    return series;
  }

  void put_number(Writer& point, const ctprof_number& number, bool is_limit) const {
    constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
    constexpr std::uint64_t kMaxInt = std::numeric_limits<std::int64_t>::max();
    const bool is_u64 = number.kind == CTPROF_NUMBER_U64;
    if (is_limit && is_u64 && number.u64 == kUnlimited)
      return point.add_double(kAsDouble, std::numeric_limits<double>::infinity());
    if (unit_.scale == 1 && is_u64 && number.u64 <= kMaxInt)
      return point.add_sfixed64(kAsInt, static_cast<std::int64_t>(number.u64));
    if (unit_.scale == 1 && number.kind == CTPROF_NUMBER_I64)
      return point.add_sfixed64(kAsInt, number.i64);
    const double value = is_u64                             ? static_cast<double>(number.u64)
                         : number.kind == CTPROF_NUMBER_I64 ? static_cast<double>(number.i64)
                                                            : number.f64;
    point.add_double(kAsDouble, value * unit_.scale);
  }

  const ctprof_output_window& window_;
  Totals& totals_;
  Unit unit_;  // of the current metric
};

}  // namespace

std::string make_metrics_message(const ctprof_output_window& window, Totals& totals) {
  totals.begin(window);
  return MessageMaker(window, totals).make();
}

}  // namespace ctprof::otlp
