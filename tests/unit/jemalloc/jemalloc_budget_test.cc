// Tests the limits on memory and time for expensive files. live/jemalloc_time_test.cc tests the
// time that many such files take.

#include <boost/test/unit_test.hpp>

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

#include "core/elf/elf_file.hpp"
#include "plugins/jemalloc-ptrace/finder/capture_budget.hpp"
#include "plugins/jemalloc-ptrace/finder/debug_info.hpp"
#include "plugins/jemalloc-ptrace/finder/debug_sections.hpp"
#include "plugins/jemalloc-ptrace/finder/finder.hpp"
#include "tests/unit/jemalloc/expensive_files.hpp"
#include "tests/unit/jemalloc/stopped_clock.hpp"
#include "tests/unit/support/bytes_read.hpp"

namespace jemalloc_budget_test {
using namespace ctprof;
using namespace ctprof::jemalloc;
using namespace ctprof::jemalloc::costly;

namespace {

// A sanitizer keeps freed memory and adds padding around allocations.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kMaxMemory = 256 * kMiB;
#elif defined(__has_feature)
constexpr std::size_t kMaxMemory = (__has_feature(address_sanitizer) ? 256 : 64) * kMiB;
#else
constexpr std::size_t kMaxMemory = 64 * kMiB;
#endif

// Returns sections whose names start one byte apart in a table of 1 MiB without a final zero.
std::string many_sections(std::uint16_t count) {
  std::string bytes;
  Elf64_Ehdr head = header();
  head.e_shoff = kPage;
  head.e_shnum = count;
  put(bytes, 0, head);
  const std::size_t names = kPage + count * sizeof(Elf64_Shdr);
  for (std::uint16_t i = 0; i < count; ++i) {
    Elf64_Shdr section{};
    section.sh_name = i;
    section.sh_type = SHT_NOTE;
    if (i == 0) section.sh_offset = names, section.sh_size = kMiB;
    put(bytes, kPage + i * sizeof section, section);
  }
  return bytes + std::string(kMiB, 'A');
}

// Returns the peak resident memory of this process since reset_peak_memory().
std::size_t peak_memory() {
  std::ifstream status("/proc/self/status");
  std::string word;
  std::size_t kib = 0;
  while (status >> word && word != "VmHWM:") continue;
  BOOST_REQUIRE(status >> kib);
  return kib * 1024;
}

void reset_peak_memory() { std::ofstream("/proc/self/clear_refs") << 5 << std::flush; }

std::int64_t now_ms = 0;
FileBudget::Clock::time_point clock_of_test() {
  return FileBudget::Clock::time_point(std::chrono::milliseconds(now_ms));
}

std::size_t measure_memory(std::uint16_t sections) {
  const std::string bytes = many_sections(sections);
  const Fd fd(::memfd_create("sections", MFD_CLOEXEC));
  BOOST_REQUIRE(::write(fd.get(), bytes.data(), bytes.size()) ==
                static_cast<ssize_t>(bytes.size()));
  reset_peak_memory();
  const std::size_t before = peak_memory();
  const ElfFile file(fd.get(), without_time_limit());
  BOOST_TEST(file.sections().size() == sections);
  find_debug_sections(file);
  read_debug_hints(file);
  return peak_memory() - before;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(jemalloc_budget_test)

BOOST_AUTO_TEST_CASE(limits_memory_for_unterminated_names) {
  BOOST_REQUIRE(measure_memory(1'000) < kMaxMemory);
  BOOST_TEST(measure_memory(65'535) < kMaxMemory);
}

// A file of this size is not read.
BOOST_AUTO_TEST_CASE(does_not_read_huge_debug_files) {
  const std::uint64_t before = ctprof::count_bytes_read();
  find_in(40, 1024 * kMiB, stopped_clock);
  BOOST_TEST(ctprof::count_bytes_read() - before < 64 * kMiB);
}

BOOST_AUTO_TEST_CASE(charges_a_budget_up_to_its_limit) {
  FileBudget budget({100, std::chrono::milliseconds(1)}, clock_of_test);
  BOOST_TEST(budget.charge(60));
  BOOST_TEST(!budget.charge(60));
  BOOST_TEST(!budget.charge(1));
  BOOST_TEST(budget.is_spent());
}

BOOST_AUTO_TEST_CASE(a_budget_ends_with_its_time) {
  FileBudget budget({100, std::chrono::milliseconds(20)}, clock_of_test);
  now_ms += 20;
  BOOST_TEST(budget.charge(1));
  now_ms += 1;
  BOOST_TEST(!budget.charge(1));
  BOOST_TEST(budget.is_spent());
  BOOST_TEST((budget.elapsed() == std::chrono::milliseconds(21)));
}

// The more time earlier files took, the less a capture allows for each further file.
BOOST_AUTO_TEST_CASE(a_capture_reduces_budgets_after_expensive_files) {
  CaptureBudget capture;
  const auto bytes_after = [&](int additional_ms) {
    const FileBudget file(kFullFileAllowance, clock_of_test);
    now_ms += additional_ms;
    capture.charge(file);
    return capture.next_allowance().bytes;
  };
  BOOST_TEST(capture.next_allowance().bytes == kFullFileAllowance.bytes);
  BOOST_TEST(bytes_after(2'999) == kFullFileAllowance.bytes);
  BOOST_TEST(bytes_after(1) == kOrdinaryFileAllowance.bytes);
  BOOST_TEST(bytes_after(2'999) == kOrdinaryFileAllowance.bytes);
  BOOST_TEST(bytes_after(1) == kHeadersOnlyAllowance.bytes);
}

// The result shows whether the budget was exhausted. A file that its headers exclude costs almost
// nothing.
BOOST_AUTO_TEST_CASE(stops_reading_a_file_at_the_end_of_its_budget) {
  const Fd fd(::memfd_create("cut", MFD_CLOEXEC));
  const std::string bytes = image_with_debug_link("none");
  BOOST_REQUIRE(::write(fd.get(), bytes.data(), bytes.size()) ==
                static_cast<ssize_t>(bytes.size()));
  const ElfFile whole(fd.get(), without_time_limit());
  BOOST_TEST((analyze_file(whole, {}).status == FindStatus::DwarfParseFailure));
  BOOST_TEST(!whole.budget()->is_spent());
  const ElfFile cut(fd.get(), without_time_limit({300, kFullFileAllowance.time}));
  analyze_file(cut, {});
  BOOST_TEST(cut.budget()->is_spent());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace jemalloc_budget_test
