// Tests the detection of interrupt time accounting, from pressure files and from BTF.

#include <boost/test/unit_test.hpp>

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "plugins/taskstats/probe.hpp"
#include "tests/unit/support/files.hpp"
#include "tests/unit/support/source_driver.hpp"

namespace taskstats_interrupts_test {
using namespace std::string_literals;
using ctprof::taskstats::measures_interrupts;

namespace {

// Names in BTF of Debian's Linux 6.12 as bpftool shows them, and with the option enabled.
const std::string kNamesWithoutOption =
    "\0nr_iowait\0last_blocked_load_update_tick\0prev_irq_times\0"s;
const std::string kNamesWithOption = "\0nr_iowait\0prev_irq_time\0prev_steal_time\0"s;

struct FakeHost {
  TemporaryDirectory root;

  FakeHost() {
    std::filesystem::create_directories(root / "proc");
    std::filesystem::create_directories(root / "sys");
  }

  void file(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root.path() + path).parent_path());
    std::ofstream(root.path() + path, std::ios::binary) << text;
  }

  // Returns 1 or 0, or -1 if it is unknown.
  int answer() const {
    const TestHost host(root.path(), {1, 1}, 0);
    const auto measured = measures_interrupts(ctprof::sdk::Host(host.abi));
    return measured ? measured.value : -1;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(taskstats_interrupts_test)

BOOST_FIXTURE_TEST_CASE(pressure_files_decide_first, FakeHost) {
  file("/proc/pressure/cpu", "");
  file("/sys/kernel/btf/vmlinux", kNamesWithOption);
  BOOST_TEST(answer() == 0);
  file("/proc/pressure/irq", "");
  BOOST_TEST(answer() == 1);
}

BOOST_FIXTURE_TEST_CASE(btf_decides_without_pressure_files, FakeHost) {
  file("/sys/kernel/btf/vmlinux", kNamesWithoutOption);
  BOOST_TEST(answer() == 0);
  file("/sys/kernel/btf/vmlinux", kNamesWithOption);
  BOOST_TEST(answer() == 1);
}

BOOST_FIXTURE_TEST_CASE(is_unknown_without_any_source, FakeHost) { BOOST_TEST(answer() == -1); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace taskstats_interrupts_test
