// Tests tables of unwind rules: their contents for hand-written files, and for real libraries and
// programs that each rule equals the decoder's rule.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>

#include "core/stacks/cfi.hpp"
#include "core/stacks/code_guess.hpp"
#include "core/stacks/unwind_table.hpp"
#include "tests/unit/stacks/elf_builder.hpp"
#include "tests/unit/stacks/section_builder.hpp"
#include "tests/unit/support/fixtures.hpp"

namespace ctprof::tests::stacks_unwind_table_test {
namespace {

constexpr std::uint64_t kStart = 0x4000;

std::optional<UnwindTable> table_of(const std::string& image, const PackLimits& limits = {}) {
  const ElfFile file(image);
  return pack_rules(file, Cfi(file), limits);
}

bool is_same(const ctprof_unwind_rule& a, const ctprof_unwind_rule& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// The table may contain a root without a rule of the decoder: the start of a program.
bool is_undescribed_start(const ElfFile& file, FileAddress address, const UnwindRule& decoded) {
  return is_same(pack_rule(decoded), pack_rule(UnwindRule{})) && address >= file.entry() &&
         address < file.entry() + kMaxStartFunctionSize;
}

// Counts addresses whose rule in the table differs from the decoder's rule. Checks every `step`-th
// address.
std::size_t count_differences(const ElfFile& file, std::uint64_t step) {
  const Cfi cfi(file), again(file);
  const auto table = pack_rules(file, cfi);
  BOOST_REQUIRE(table);
  std::size_t differences = 0;
  const auto check = [&](std::uint64_t place) {
    const auto address = file.code_address(place);
    const UnwindRule rule = address ? again.find_rule(*address) : UnwindRule{};
    const auto packed_rule = table->find_rule(place);
    const bool is_start = packed_rule.kind == CTPROF_UNWIND_ROOT && address &&
                          is_undescribed_start(file, *address, rule);
    differences += !is_start && !is_same(packed_rule, pack_rule(rule));
  };
  for (std::uint64_t place = 0; place < file.size(); place += step) check(place);
  for (std::size_t number = 0; number < table->pages.size(); ++number)
    for (std::uint32_t i = 0; i < table->pages[number].rows_count; ++i) {
      const std::uint64_t place = ((table->first_page + number) << UnwindTable::kPageBits) +
                                  table->rows[table->pages[number].first_row + i].place;
      check(place);
      if (place > 0) check(place - 1);
    }
  BOOST_TEST_MESSAGE(table->rows.size()
                     << " rows, " << table->rules.size() << " rules, " << table->get_memory_size()
                     << " bytes, " << cfi.steps() << " steps");
  return differences;
}

void check_file(const std::string& path, std::uint64_t step) {
  const sdk::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  BOOST_TEST_MESSAGE(path << (fd ? "" : ": not here"));
  if (!fd) return;
  BOOST_TEST_CONTEXT(path) { BOOST_TEST(count_differences(ElfFile(fd.get()), step) == 0u); }
}

// Returns the path of an installed library.
std::string path_of_library(const std::string& name) {
  for (const char* directory : {"/usr/lib/x86_64-linux-gnu/", "/usr/lib64/", "/usr/lib/"})
    if (std::filesystem::exists(directory + name)) return directory + name;
  return {};
}

ElfBuilder elf_with_function(const std::string& program) {
  ElfBuilder elf;
  elf.add_common_entry(kX86InitialRules);
  elf.add_function(kStart, 64, program);
  return elf;
}

ctprof_unwind_rule find_rule(const std::string& program, std::uint64_t offset = 0) {
  const auto table = table_of(elf_with_function(program).image());
  BOOST_REQUIRE(table);
  return table->find_rule(kStart + offset);
}

void check_rule(const ctprof_unwind_rule& rule, int kind, int cfa_offset, int bp = 0,
                int bp_offset = 0) {
  BOOST_TEST(int{rule.kind} == kind);
  BOOST_TEST(rule.cfa_offset == cfa_offset);
  BOOST_TEST(int{rule.bp} == bp);
  BOOST_TEST(rule.bp_offset == bp_offset);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stacks_unwind_table_test)

#ifdef __x86_64__
BOOST_AUTO_TEST_CASE(rules_of_libraries_and_programs_equal_those_of_the_decoder) {
  check_file(path_of_library("libc.so.6"), 1);
  check_file(path_of_library("libstdc++.so.6"), 5);
  check_file(path_of_library("libcrypto.so.3"), 11);  // contains much hand-written code
  check_file("/bin/bash", 5);
  check_file("/usr/bin/python3", 7);
  check_file("/proc/self/exe", 7);
}
#endif

// Rules from the function table of the Go runtime.
BOOST_AUTO_TEST_CASE(rules_of_go_programs_equal_those_of_the_decoder) {
  for (const char* program : {"1.17", "1.18", "1.20", "1.26", "1.26-pie"}) {
    const std::string image = file_text(fixture_path("go") + "/" + program);
    const auto table = table_of(image);
    BOOST_REQUIRE(table);
    BOOST_TEST(table->rows.size() > 100u);
    BOOST_TEST_CONTEXT(program) { BOOST_TEST(count_differences(ElfFile(image), 13) == 0u); }
  }
}

BOOST_AUTO_TEST_CASE(packs_a_function_with_a_frame_pointer) {
  const std::string program =
      to_bytes({0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 20, 0x0c, 7, 8});
  check_rule(find_rule(program, 0), CTPROF_UNWIND_SP, 8);
  check_rule(find_rule(program, 1), CTPROF_UNWIND_SP, 16, CTPROF_UNWIND_AT_CFA, -16);
  check_rule(find_rule(program, 4), CTPROF_UNWIND_BP, 16, CTPROF_UNWIND_AT_CFA, -16);
  check_rule(find_rule(program, 23), CTPROF_UNWIND_BP, 16, CTPROF_UNWIND_AT_CFA, -16);
  check_rule(find_rule(program, 24), CTPROF_UNWIND_SP, 8, CTPROF_UNWIND_AT_CFA, -16);
  check_rule(find_rule(program, 63), CTPROF_UNWIND_SP, 8, CTPROF_UNWIND_AT_CFA, -16);
  check_rule(find_rule(program, 64), CTPROF_UNWIND_NONE, 0);
}

// xor %ebp,%ebp; mov %rsp,%rdi; call; hlt
BOOST_AUTO_TEST_CASE(packs_the_start_of_a_program_as_a_root) {
  const std::string start = to_bytes({0x31, 0xed, 0x48, 0x89, 0xe7, 0xe8, 0, 0, 0, 0, 0xf4});
  ElfBuilder elf;
  elf.add_common_entry(kX86InitialRules);
  elf.add_function(0x4000, 16, to_bytes({0x0e, 16}));
  elf.put_code(0x4010, start);
  elf.set_entry(0x4010);
  const UnwindTable table = table_of(elf.image()).value();
  BOOST_TEST(table.find_rule(0x400f).kind == CTPROF_UNWIND_SP);
  BOOST_TEST(table.find_rule(0x4010).kind == CTPROF_UNWIND_ROOT);
  BOOST_TEST(table.find_rule(0x4010 + kMaxStartFunctionSize - 1).kind == CTPROF_UNWIND_ROOT);
  BOOST_TEST(table.find_rule(0x4010 + kMaxStartFunctionSize).kind == CTPROF_UNWIND_NONE);
}

BOOST_AUTO_TEST_CASE(a_start_function_that_returns_is_not_a_root) {
  ElfBuilder elf;
  elf.add_common_entry(kX86InitialRules);
  elf.add_function(0x4000, 16, to_bytes({0x0e, 16}));
  elf.put_code(0x4010, std::string(kMaxStartFunctionSize, '\xc3'));
  elf.set_entry(0x4010);
  BOOST_TEST(table_of(elf.image()).value().find_rule(0x4010).kind == CTPROF_UNWIND_NONE);
}

BOOST_AUTO_TEST_CASE(packs_roots_and_stored_stack_pointers) {
  check_rule(find_rule(to_bytes({0x07, 16})), CTPROF_UNWIND_ROOT, 0);
  check_rule(find_rule(to_bytes({0x0f, 5, 0x77, 16, 0x06, 0x23, 8})), CTPROF_UNWIND_AT_SP,
             16 << 8 | 8);
  check_rule(find_rule(to_bytes({0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0})),
             CTPROF_UNWIND_AT_BP, -8 * 256, CTPROF_UNWIND_SAVED_AT_BP, 0);
}

BOOST_AUTO_TEST_CASE(packs_signal_frames) {
  ElfBuilder elf;
  elf.add_common_entry("", "zRS");
  elf.add_function(kStart, 16,
                   to_bytes({0x0f, 4, 0x77, 0xa0, 0x01, 0x06, 0x10, 16, 3, 0x77, 0xa8, 0x01, 0x10,
                             6, 3, 0x77, 0xf8, 0}));
  elf.add_function(kStart + 16, 16,
                   to_bytes({0x0f, 4, 0x77, 0xa0, 0x01, 0x06}));  // no return address
  const auto table = table_of(elf.image());
  BOOST_REQUIRE(table);
  check_rule(table->find_rule(kStart), CTPROF_UNWIND_SIGNAL, 160);
  check_rule(table->find_rule(kStart + 16), CTPROF_UNWIND_UNKNOWN, 0);
}

BOOST_AUTO_TEST_CASE(unsupported_rules_are_unknown) {
  check_rule(find_rule(to_bytes({0x0c, 10, 0})), CTPROF_UNWIND_UNKNOWN, 0);  // CFA = r10
  check_rule(find_rule(to_bytes({0x11, 16, 0x7e})), CTPROF_UNWIND_UNKNOWN,
             0);  // return at CFA + 16
  check_rule(find_rule(to_bytes({0x09, 16, 0})), CTPROF_UNWIND_UNKNOWN,
             0);                                                      // return address in rax
  check_rule(find_rule(to_bytes({0x3f})), CTPROF_UNWIND_UNKNOWN, 0);  // unknown instruction
  check_rule(find_rule(to_bytes({0x11, 6, 0x80, 0x80, 0x04})), CTPROF_UNWIND_UNKNOWN,
             0);  // bp is saved too far away
  // *(sp + 16) + 200
  check_rule(find_rule(to_bytes({0x0f, 6, 0x77, 16, 0x06, 0x23, 0xc8, 0x01})),
             CTPROF_UNWIND_UNKNOWN, 0);
}

// A jump table (PLT): one rule before an entry's push, another one after it.
BOOST_AUTO_TEST_CASE(packs_rules_that_depend_on_the_address) {
  const std::string plt =
      to_bytes({0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22});
  check_rule(find_rule(plt, 0), CTPROF_UNWIND_SP, 8);
  check_rule(find_rule(plt, 10), CTPROF_UNWIND_SP, 8);
  check_rule(find_rule(plt, 11), CTPROF_UNWIND_SP, 16);
  check_rule(find_rule(plt, 15), CTPROF_UNWIND_SP, 16);
  check_rule(find_rule(plt, 16), CTPROF_UNWIND_SP, 8);
  const std::string image = elf_with_function(plt).image();
  BOOST_TEST(count_differences(ElfFile(image), 1) == 0u);
}

BOOST_AUTO_TEST_CASE(files_that_contradict_themselves_have_no_table) {
  ElfBuilder unsorted;
  unsorted.add_common_entry(kX86InitialRules);
  unsorted.add_function(kStart, 64, "");
  unsorted.add_function(kStart + 512, 64, "");
  unsorted.add_function(kStart + 256, 64, "");
  BOOST_TEST(!table_of(unsorted.image()));
  BOOST_TEST(!table_of("no file"));
  BOOST_TEST(!table_of(ElfBuilder(EM_AARCH64).image()));
}

BOOST_AUTO_TEST_CASE(finds_overlapping_functions_like_the_decoder) {
  ElfBuilder elf;
  elf.add_common_entry(kX86InitialRules);
  elf.add_function(kStart, 0x8000, to_bytes({0x0e, 16}));
  elf.add_function(kStart + 64, 64, to_bytes({0x0e, 32}));
  elf.add_function(kStart + 64, 32, to_bytes({0x0e, 48}));
  elf.add_function(kStart + 256, 64, to_bytes({0x0e, 64}));
  const std::string image = elf.image();
  BOOST_TEST(count_differences(ElfFile(image), 1) == 0u);
}

// The common entry advances the location, which no compiler generates.
BOOST_AUTO_TEST_CASE(a_common_entry_that_advances_is_unknown) {
  ElfBuilder elf;
  elf.add_common_entry(kX86InitialRules + to_bytes({0x44, 0x0e, 24}));
  elf.add_function(kStart, 64, to_bytes({0x44, 0x0e, 32}));
  const auto table = table_of(elf.image());
  BOOST_REQUIRE(table);
  for (std::uint64_t offset = 0; offset < 64; ++offset)
    check_rule(table->find_rule(kStart + offset), CTPROF_UNWIND_UNKNOWN, 0);
}

BOOST_AUTO_TEST_CASE(limits_work_and_size) {
  ElfBuilder elf;
  elf.add_common_entry(kX86InitialRules);
  std::string program;
  for (int i = 0; i < 4000; ++i) program += to_bytes({0x41, 0x0e, 8 + 8 * (i % 2)});
  elf.add_function(kStart, 4096, program);
  const std::string image = elf.image();
  BOOST_TEST(table_of(image).has_value());
  BOOST_TEST(!table_of(image, {.steps = 100}));
  BOOST_TEST(!table_of(image, {.rows = 100}));
  BOOST_TEST(!table_of(image, {.pages = 1}));  // the end of the code needs one more page
  BOOST_TEST(table_of(image, {.pages = 2}).has_value());
}

// A program with the function table of Go 1.20: functions of this size from `start` on, each of
// which changes its frame size at each byte.
std::string go_table_with_functions(std::uint64_t start, std::uint32_t size, std::uint32_t count) {
  constexpr std::uint64_t kNames = 72, kFiles = kNames + 8, kFrameSizes = kFiles + 8;
  constexpr std::size_t kFunctionBytes = 44;
  // Pairs of a difference in zigzag encoding and a distance. The first value is 8, the next is 16.
  std::string sizes = to_bytes({0, 18, 1});
  for (std::uint32_t i = 1; i < size; ++i) sizes += to_bytes({i % 2 != 0 ? 16 : 15, 1});
  sizes.resize((sizes.size() / 8 + 1) * 8);
  std::string table = bytes_of(std::uint32_t{0xfffffff1}) + to_bytes({0, 0, 1, 8});
  for (const std::uint64_t field : {std::uint64_t{count}, std::uint64_t{0}, start, kNames, kFiles,
                                    kFiles, kFrameSizes, kFrameSizes + sizes.size()})
    table += bytes_of(field);
  table += std::string(16, 'f') + sizes;
  std::string functions;
  const std::uint32_t first_function = 8 * (count + 1);
  for (std::uint32_t i = 0; i < count; ++i) {
    table += bytes_of(i * size) + bytes_of(first_function + i * std::uint32_t{kFunctionBytes});
    std::string function(kFunctionBytes, '\0');
    function.replace(16, 4, bytes_of(std::uint32_t{1}));  // where the frame sizes begin
    functions += function;
  }
  return table + bytes_of(count * size) + bytes_of(std::uint32_t{0}) + functions;
}

BOOST_AUTO_TEST_CASE(a_go_program_with_millions_of_rules_has_a_table) {
  constexpr std::uint64_t kGo = 0x5000, kC = 0x6000;
  ElfBuilder elf;
  elf.add_common_entry(kX86InitialRules);
  elf.add_function(kStart, 64, "");
  elf.add_function(kC, 64, "");
  SectionBuilder sections(elf.image());
  sections.add_section(".gopclntab", SHT_PROGBITS, go_table_with_functions(kGo, 250'000, 9));
  const auto table = table_of(sections.image());
  BOOST_REQUIRE(table);
  check_rule(table->find_rule(kStart), CTPROF_UNWIND_SP, 8);
  check_rule(table->find_rule(kStart + 64), CTPROF_UNWIND_NONE, 0);
  for (const std::uint64_t go : {kGo, kC - 2, kC + 64}) {
    check_rule(table->find_rule(go), CTPROF_UNWIND_SP, 16);
    check_rule(table->find_rule(go + 1), CTPROF_UNWIND_SP, 24);
  }
  check_rule(table->find_rule(kC), CTPROF_UNWIND_SP, 8);
  check_rule(table->find_rule(kC + 63), CTPROF_UNWIND_SP, 8);
}

// A single file must not use up the rule numbers that tables of other files need.
BOOST_AUTO_TEST_CASE(rules_beyond_the_limit_are_unknown) {
  const std::string image =
      elf_with_function(to_bytes({0x41, 0x0e, 16, 0x41, 0x0e, 24, 0x41, 0x0e, 8})).image();
  for (const std::size_t most : {0u, 2u, 4u, 5u}) {
    const UnwindTable table = table_of(image, {.rules = most}).value();
    BOOST_TEST(table.rules.size() == std::max<std::size_t>(most, 2));
    const auto kind_at = [&](std::uint64_t offset) {
      return int{table.find_rule(kStart + offset).kind};
    };
    BOOST_TEST(kind_at(0) == (most > 2 ? CTPROF_UNWIND_SP : CTPROF_UNWIND_UNKNOWN));
    BOOST_TEST(kind_at(1) == (most > 3 ? CTPROF_UNWIND_SP : CTPROF_UNWIND_UNKNOWN));
    BOOST_TEST(kind_at(2) == (most > 4 ? CTPROF_UNWIND_SP : CTPROF_UNWIND_UNKNOWN));
    BOOST_TEST(kind_at(3) == kind_at(0));
    BOOST_TEST(kind_at(64) == CTPROF_UNWIND_NONE);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace ctprof::tests::stacks_unwind_table_test
