// Tests parsing pressure files.

#include <boost/test/unit_test.hpp>

#include "plugins/psi/pressure.hpp"
#include "tests/unit/support/fixtures.hpp"

namespace psi_pressure_test {
using namespace ctprof::psi;
using ctprof::Gap;

BOOST_AUTO_TEST_SUITE(psi_pressure_test)

BOOST_AUTO_TEST_CASE(parses_recorded_pressure) {
  const Pressure pressure =
      parse_pressure(kernel_text("6.12/sys/fs/cgroup/ctp.slice/work.service/cpu.pressure"));
  BOOST_TEST(pressure.some.avg10.value == 3018u);
  BOOST_TEST(pressure.some.avg60.value == 586u);
  BOOST_TEST(pressure.some.avg300.value == 124u);
  BOOST_TEST(pressure.some.total_usec.value == 4774371u);
  BOOST_TEST(pressure.full.avg10.value == 1579u);
  BOOST_TEST(pressure.full.total_usec.value == 2484346u);
}

BOOST_AUTO_TEST_CASE(parses_pressure_without_a_full_line) {
  const Pressure pressure = parse_pressure(kernel_text("5.10/proc/pressure/cpu"));
  BOOST_TEST((pressure.some.avg10 && pressure.some.total_usec));
  BOOST_TEST((pressure.full.avg10.gap == Gap::Unsupported));
  BOOST_TEST((pressure.full.total_usec.gap == Gap::Unsupported));
}

// Constructed from the kernel source, as no recorded kernel has this file.
BOOST_AUTO_TEST_CASE(parses_irq_pressure) {
  const Pressure pressure = parse_pressure("full avg10=0.31 avg60=0.10 avg300=0.02 total=98765\n");
  BOOST_TEST((pressure.some.avg10.gap == Gap::Unsupported));
  BOOST_TEST(pressure.full.avg10.value == 31u);
  BOOST_TEST(pressure.full.total_usec.value == 98765u);
}

BOOST_AUTO_TEST_CASE(parses_hundredths_of_a_percent) {
  for (const auto& [text, value] : {std::pair{"0.00", 0u},
                                    {"12.34", 1234u},
                                    {"100.99", 10099u},
                                    {"7", 700u},
                                    {"7.", 700u},
                                    {"7.5", 750u},
                                    {"7.123", 712u},
                                    {"655.35", 65535u}})
    BOOST_TEST(parse_hundredths(text).value == value, text);
  for (const char* text :
       {"", ".5", "-1.00", "1.-5", "a", "1.x", "655.36", "99999999999999999999.00"})
    BOOST_TEST((parse_hundredths(text).gap == Gap::Malformed), text);
}

BOOST_AUTO_TEST_CASE(missing_or_invalid_parts_are_gaps) {
  const Pressure pressure =
      parse_pressure("some avg10=x avg60=1.00 total=18446744073709551616\nnone avg10=1.00\nfull\n");
  BOOST_TEST((pressure.some.avg10.gap == Gap::Malformed));
  BOOST_TEST(pressure.some.avg60.value == 100u);
  BOOST_TEST((pressure.some.avg300.gap == Gap::Malformed));
  BOOST_TEST((pressure.some.total_usec.gap == Gap::Malformed));
  BOOST_TEST((pressure.full.avg10.gap == Gap::Malformed));
  BOOST_TEST((parse_pressure("").some.avg10.gap == Gap::Unsupported));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace psi_pressure_test
