// Tests how values and differences print. A unit prefix is selected after rounding, as in the
// reference.

#include <boost/test/unit_test.hpp>
#include <limits>
#include <string>
#include <vector>

#include "core/base/number.hpp"

namespace ctprof::numbers_test {
namespace {

constexpr std::uint64_t kMaxU64 = std::numeric_limits<std::uint64_t>::max();

std::string value(std::uint64_t number, std::string_view unit) {
  return format_scaled(make_number(number), unit);
}
std::string format_real(double number, std::string_view unit) {
  return format_scaled(make_number(number), unit);
}
std::string delta(std::uint64_t a, std::uint64_t b, std::string_view unit) {
  return format_scaled(difference(make_number(a), make_number(b)), unit);
}
std::string json(const Difference& between) {
  JsonWriter out;
  write_json(between, out);
  return std::string(out.view());
}
BOOST_AUTO_TEST_SUITE(numbers_test)

BOOST_AUTO_TEST_CASE(values_use_the_largest_fitting_prefix) {
  BOOST_TEST(value(0, "ns") == "0ns");
  BOOST_TEST(value(999, "ns") == "999ns");
  BOOST_TEST(value(1000, "ns") == "1.000µs");
  BOOST_TEST(value(1'234'567, "ns") == "1.235ms");
  BOOST_TEST(value(12'345'678'901, "ns") == "12.346s");
  BOOST_TEST(value(1'500, "us") == "1.500ms");
  BOOST_TEST(value(2'000'000, "us") == "2.000s");
  BOOST_TEST(value(1023, "bytes") == "1023B");
  BOOST_TEST(value(8053063680, "bytes") == "7.500GiB");
  BOOST_TEST(value(512, "kib") == "512KiB");
  BOOST_TEST(value(1536, "kib") == "1.500MiB");
  BOOST_TEST(value(22, "ticks") == "22ticks");
  BOOST_TEST(value(1'000'000, "ticks") == "1.000Mticks");
  BOOST_TEST(value(92'457, "count") == "92.457K");
  BOOST_TEST(value(123'456'789, "none") == "123456789");
  BOOST_TEST(value(kMaxU64, "count") == "18446744073.710G");
  BOOST_TEST(value(kMaxU64, "none") == "18446744073709551615");
  BOOST_TEST(format_scaled(make_number(std::int64_t{-20}), "none") == "-20");
  BOOST_TEST(format_scaled(no_number(), "ns") == "-");
}

BOOST_AUTO_TEST_CASE(selects_the_prefix_after_rounding) {
  BOOST_TEST(value(999'999, "ns") == "999.999µs");
  BOOST_TEST(value(999'999'499, "ns") == "999.999ms");
  BOOST_TEST(value(999'999'500, "ns") == "1.000s");
  BOOST_TEST(value(999'999'999, "ns") == "1.000s");
  BOOST_TEST(value(1024 * 1024 - 1, "bytes") == "1023.999KiB");
  BOOST_TEST(value(1024ull * 1024 * 1024 - 1, "bytes") == "1.000GiB");
  BOOST_TEST(format_real(999.999, "ns") == "1.000µs");
  BOOST_TEST(format_real(999.99, "ns") == "999.99ns");
}

BOOST_AUTO_TEST_CASE(prints_real_numbers_with_their_unit) {
  BOOST_TEST(format_real(0.5, "ratio") == "0.500");
  BOOST_TEST(format_real(0.0005, "ratio") == "0.001");
  BOOST_TEST(format_real(0.0004, "ratio") == "<0.001");
  BOOST_TEST(format_real(-0.0004, "ratio") == "-<0.001");
  BOOST_TEST(format_real(0.0, "ratio") == "0.000");
  BOOST_TEST(format_real(0.004, "percent") == "<0.01%");
  BOOST_TEST(format_real(12.34, "percent") == "12.34%");
  BOOST_TEST(format_real(12.34, "centipercent") == "12.34%");
  BOOST_TEST(format_real(2.5, "ns") == "2.50ns");
  BOOST_TEST(format_real(2500, "ns") == "2.500µs");
  BOOST_TEST(format_real(1.5, "none") == "1.5");
  BOOST_TEST(format_real(std::numeric_limits<double>::infinity(), "bytes") == "max");
}

BOOST_AUTO_TEST_CASE(prints_differences_exactly_with_a_sign) {
  BOOST_TEST(delta(0, 5, "ns") == "+5ns");
  BOOST_TEST(delta(92'457, 0, "count") == "-92.457K");
  BOOST_TEST(delta(7, 7, "count") == "+0");
  BOOST_TEST(format_scaled(difference(make_number(1.0), make_number(0.5)), "ratio") == "-0.500");
  BOOST_TEST(format_scaled(difference(make_number(1.5), make_number(1.0)), "none") == "-0.500");
  BOOST_TEST(format_scaled(difference(make_number(1.5), make_number(6.5)), "none") == "+5");
  BOOST_TEST(json(difference(make_number(kMaxU64), make_number(std::uint64_t{0}))) ==
             "-18446744073709551615");
  BOOST_TEST(json(difference(make_number(std::uint64_t{1} << 53),
                             make_number((std::uint64_t{1} << 53) + 1))) == "1");
  BOOST_TEST(json(difference(make_number(std::int64_t{-20}), make_number(std::int64_t{19}))) ==
             "39");
  BOOST_TEST(json(difference(no_number(), make_number(std::uint64_t{1}))) == "null");
  BOOST_TEST(!difference(make_number(std::numeric_limits<double>::infinity()), make_number(1.0))
                  .is_known());
}

BOOST_AUTO_TEST_CASE(prints_percentages) {
  BOOST_TEST(format_percent(10.631) == "+1063.1%");
  BOOST_TEST(format_percent(-0.25) == "-25.0%");
  BOOST_TEST(format_percent(0) == "+0.0%");
  BOOST_TEST(format_percent(-0.0) == "+0.0%");
  BOOST_TEST(format_percent(std::numeric_limits<double>::quiet_NaN()) == "-");
}

BOOST_AUTO_TEST_CASE(prints_three_digits_on_the_screen) {
  BOOST_TEST(format_brief(0, "count") == "0");
  BOOST_TEST(format_brief(0.04, "percent") == "0.0");
  BOOST_TEST(format_brief(46.66, "percent") == "46.7");
  BOOST_TEST(format_brief(376.3, "percent") == "376");
  BOOST_TEST(format_brief(99.96, "count") == "100");
  BOOST_TEST(format_brief(1234, "count") == "1.23K");
  BOOST_TEST(format_brief(999.6, "count") == "1.00K");
  BOOST_TEST(format_brief(-12.3 * 0x1p20, "bytes") == "-12.3Mi");
  BOOST_TEST(format_brief(1023 * 1024, "bytes") == "1.00Mi");
  BOOST_TEST(format_brief(800, "bytes") == "800B");
  BOOST_TEST(format_brief(std::numeric_limits<double>::quiet_NaN(), "bytes") == "-");
}

BOOST_AUTO_TEST_CASE(values_of_one_column_share_a_prefix) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  BOOST_TEST(format_brief_steps(std::vector{51200.0, 0x1p20}, "bytes") == "0.05→1.00Mi");
  BOOST_TEST(format_brief_steps(std::vector{0.4, 187.0}, "percent") == "0.4→187");
  BOOST_TEST(format_brief_steps(std::vector{12.31, 12.33}, "percent") == "12.3");
  BOOST_TEST(format_brief_steps(std::vector{nan, 5.0}, "count") == "-→5.0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::numbers_test
