// Tests the metrics that otlp sends for consecutive windows: sums, their start times, and gaps.

#define BOOST_TEST_MODULE otlp_message
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <map>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>

#include "core/base/number.hpp"
#include "core/output/window_view.hpp"
#include "plugins/outputs/otlp/metrics_message.hpp"

namespace ctprof::otlp {
namespace {

struct Point {
  std::uint64_t start = 0, time = 0;
  std::optional<std::int64_t> integer;
  std::optional<double> real;
  std::map<std::string, std::string> attributes;
};

struct Metric {
  bool is_sum = false;
  std::string unit;
  std::vector<Point> points;
};

void read_attribute(protozero::pbf_reader reader, Point& point) {
  std::string key;
  while (reader.next()) {
    if (reader.tag() == 1) {
      key = reader.get_string();
      continue;
    }
    protozero::pbf_reader value = reader.get_message();
    value.next();
    point.attributes[key] = value.get_string();
  }
}

Point read_point(protozero::pbf_reader reader) {
  Point point;
  while (reader.next()) switch (reader.tag()) {
      case 2: point.start = reader.get_fixed64(); break;
      case 3: point.time = reader.get_fixed64(); break;
      case 4: point.real = reader.get_double(); break;
      case 6: point.integer = reader.get_sfixed64(); break;
      default: read_attribute(reader.get_message(), point);
    }
  return point;
}

std::pair<std::string, Metric> read_metric(protozero::pbf_reader reader) {
  std::string name;
  Metric metric;
  while (reader.next()) {
    if (reader.tag() == 1) {
      name = reader.get_string();
    } else if (reader.tag() == 3) {
      metric.unit = reader.get_string();
    } else {
      metric.is_sum = reader.tag() == 7;
      protozero::pbf_reader points = reader.get_message();
      while (points.next(1)) metric.points.push_back(read_point(points.get_message()));
    }
  }
  return {name, metric};
}

class Sender {
 public:
  std::map<std::string, Metric> send(const OutputWindow& window) {
    const WindowView view(window);
    const std::string message = make_metrics_message(view.get(), totals_);
    std::map<std::string, Metric> metrics;
    protozero::pbf_reader request(message);
    request.next(1);
    protozero::pbf_reader resource = request.get_message();
    resource.next(2);
    protozero::pbf_reader scope = resource.get_message();
    while (scope.next(2)) metrics.insert(read_metric(scope.get_message()));
    return metrics;
  }

 private:
  Totals totals_;
};

ctprof_output_cell cell(std::uint64_t value) { return {make_number(value), 1, 1}; }
ctprof_output_cell gap() { return {no_number(), 0, 1}; }

OutputWindow make_window(std::uint64_t number, std::vector<ctprof_output_cell> cells) {
  OutputWindow window;
  window.start_ns = number * 1000;
  window.end_ns = (number + 1) * 1000;
  window.length_ns = 1000;
  window.user_hz = 100;
  OutputTable& table = window.tables.emplace_back();
  table.label_names = {"pcomm"};
  table.metrics = {{CTPROF_OUTPUT_INCREASE, "run", "", "ns", "cumulative", "thread"},
                   {0, "rss", "", "bytes", "gauge", "process"}};
  cells.resize(2, gap());
  table.rows = {{{"a"}, std::move(cells)}};
  return window;
}

BOOST_AUTO_TEST_CASE(sums_grow_and_keep_their_start) {
  Sender sender;
  sender.send(make_window(1, {cell(5), cell(70)}));
  const auto metrics = sender.send(make_window(2, {cell(6), cell(80)}));
  const Point& run = metrics.at("ctprof.run").points.at(0);
  BOOST_TEST(metrics.at("ctprof.run").is_sum);
  BOOST_TEST(run.integer.value() == 11);
  BOOST_TEST(run.start == 1000);
  BOOST_TEST(run.time == 3000);
  BOOST_TEST(run.attributes.at("pcomm") == "a");
  const Metric& rss = metrics.at("ctprof.rss");
  BOOST_TEST(!rss.is_sum);
  BOOST_TEST(rss.unit == "By");
  BOOST_TEST(rss.points.at(0).integer.value() == 80);
  BOOST_TEST(rss.points.at(0).start == 0);
}

BOOST_AUTO_TEST_CASE(gap_has_no_point_and_starts_the_sum_again) {
  Sender sender;
  sender.send(make_window(1, {cell(5)}));
  BOOST_TEST(sender.send(make_window(2, {gap()})).count("ctprof.run") == 0);
  const auto metrics = sender.send(make_window(3, {cell(6)}));
  const Point& run = metrics.at("ctprof.run").points.at(0);
  BOOST_TEST(run.integer.value() == 6);
  BOOST_TEST(run.start == 3000);
}

BOOST_AUTO_TEST_CASE(dropped_windows_start_the_sum_again) {
  Sender sender;
  sender.send(make_window(1, {cell(5)}));
  OutputWindow next = make_window(3, {cell(6)});
  next.dropped_before = 1;
  const auto metrics = sender.send(next);
  BOOST_TEST(metrics.at("ctprof.run").points.at(0).integer.value() == 6);
  BOOST_TEST(metrics.at("ctprof.run").points[0].start == 3000);
}

// The wall clock was set back by 4000 ns inside the window.
BOOST_AUTO_TEST_CASE(a_sum_starts_before_its_end_if_the_clock_was_set_back) {
  Sender sender;
  OutputWindow window = make_window(5, {cell(5)});
  window.start_ns = 9000;
  const auto metrics = sender.send(window);
  const Point& run = metrics.at("ctprof.run").points.at(0);
  BOOST_TEST(run.start == 5000);
  BOOST_TEST(run.time == 6000);
}

BOOST_AUTO_TEST_CASE(zero_is_a_point) {
  Sender sender;
  const auto metrics = sender.send(make_window(1, {cell(0)}));
  BOOST_TEST(metrics.at("ctprof.run").points.at(0).integer.value() == 0);
}

BOOST_AUTO_TEST_CASE(numbers_beyond_63_bits_and_unlimited_limits_are_doubles) {
  OutputWindow window = make_window(1, {cell(UINT64_MAX), cell(UINT64_MAX)});
  window.tables[0].metrics[1].family = "limit";
  const auto metrics = Sender().send(window);
  BOOST_TEST(metrics.at("ctprof.run").points.at(0).real.value() == 18446744073709551616.0);
  BOOST_TEST(metrics.at("ctprof.rss").points.at(0).real.value() ==
             std::numeric_limits<double>::infinity());
}

BOOST_AUTO_TEST_CASE(keys_of_a_map_are_points_of_one_metric) {
  OutputWindow window = make_window(1, {cell(1), cell(2)});
  window.tables[0].metrics = {{0, "io", "8:0", "bytes", "gauge", "cgroup"},
                              {0, "io", "8:1", "bytes", "gauge", "cgroup"}};
  const auto metrics = Sender().send(window);
  BOOST_TEST(metrics.size() == 1);
  BOOST_TEST(metrics.at("ctprof.io").points.size() == 2);
  BOOST_TEST(metrics.at("ctprof.io").points.at(1).attributes.at("key") == "8:1");
}

BOOST_AUTO_TEST_CASE(labels_of_a_key_are_attributes) {
  OutputWindow window = make_window(1, {cell(1), cell(2)});
  window.tables[0].metrics = {
      {0, "moved", "sda,a%2Cb", "bytes", "gauge", "cgroup", {{"device", "sda"}, {"way", "a,b"}}},
      {0, "moved", "sda,c", "bytes", "gauge", "cgroup", {{"device", "sda"}, {"way", "c"}}}};
  const auto metrics = Sender().send(window);
  const std::map<std::string, std::string> first{{"pcomm", "a"}, {"device", "sda"}, {"way", "a,b"}};
  const std::map<std::string, std::string> second{{"pcomm", "a"}, {"device", "sda"}, {"way", "c"}};
  BOOST_TEST((metrics.at("ctprof.moved").points.at(0).attributes == first));
  BOOST_TEST((metrics.at("ctprof.moved").points.at(1).attributes == second));
}

// An older ctprof passes structs without the labels, behind which there is other memory.
BOOST_AUTO_TEST_CASE(an_older_struct_has_no_labels) {
  ctprof_output_metric metric{};
  metric.size = offsetof(ctprof_output_metric, key_labels);
  metric.key_labels = {&metric, 7, 1};
  BOOST_TEST(ctprof_get_key_labels(&metric).count == 0);
  metric.size = sizeof metric;
  BOOST_TEST(ctprof_get_key_labels(&metric).count == 7);
}

BOOST_AUTO_TEST_CASE(ticks_become_seconds_and_names_valid_utf8) {
  OutputWindow window = make_window(1, {cell(150)});
  window.tables[0].metrics[0].unit = "ticks";
  window.tables[0].rows[0].labels = {"a\xff\xc3\xa9\xed\xa0\x80"};
  const auto metrics = Sender().send(window);
  const Metric& run = metrics.at("ctprof.run");
  BOOST_TEST(run.unit == "s");
  BOOST_TEST(run.points.at(0).real.value() == 1.5);
  BOOST_TEST(run.points[0].attributes.at("pcomm") ==
             "a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

}  // namespace
}  // namespace ctprof::otlp
