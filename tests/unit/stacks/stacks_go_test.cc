// Tests the function tables of stripped Go programs against the debug information of the same
// programs before stripping (tests/fixtures/take_go.py). Also tests damaged tables.

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "core/stacks/go_table.hpp"
#include "tests/unit/support/fixtures.hpp"

namespace ctprof::tests::stacks_go_test {
namespace {

namespace data = boost::unit_test::data;

const std::vector<std::string> kPrograms{"1.17", "1.18", "1.20", "1.26", "1.26-pie"};

std::string contents_of(const std::string& name) {
  return file_text(fixture_path("go") + "/" + name);
}

struct ExpectedFunctions {
  FileAddress address = 0;
  int cfa = 0;
  std::vector<std::string> functions;  // leaf first
};

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream text(line);
  for (std::string field; std::getline(text, field, '|');) fields.push_back(field);
  return fields;
}

// Removes spelling differences: debug information appends the calling convention of assembly
// functions, and replaces the middle dot by a dot.
std::string normalize_name(std::string name) {
  constexpr std::string_view kConvention = ".abi0", kMiddleDot = "\u00b7";
  if (name.ends_with(kConvention)) name.resize(name.size() - kConvention.size());
  for (std::size_t at; (at = name.find(kMiddleDot)) != name.npos;)
    name.replace(at, kMiddleDot.size(), ".");
  return name;
}

std::vector<ExpectedFunctions> read_expected(const std::string& program) {
  std::istringstream lines(contents_of(program + ".expected"));
  std::vector<ExpectedFunctions> all;
  for (std::string line; std::getline(lines, line);) {
    auto fields = split(line);
    for (std::string& name : fields) name = normalize_name(name);
    all.push_back({std::stoull(fields[0], nullptr, 16),
                   std::stoi(fields[1]),
                   {fields.begin() + 2, fields.end()}});
  }
  return all;
}

std::vector<std::string> functions_at(const GoTable& table, const ElfFile& file,
                                      FileAddress address) {
  const auto inlined = table.find_inlined(file, address);
  std::vector<std::string> functions(inlined.rbegin(), inlined.rend());
  functions.emplace_back(table.find_name(address));
  for (std::string& name : functions) name = normalize_name(name);
  return functions;
}

// Queries all functions of the table for some addresses of a damaged program.
void query_table(const std::string& image) {
  const ElfFile file(image);
  const GoTable table = find_go_table(file);
  for (FileAddress address = 0x400000; address < 0x500000; address += 0x1111) {
    table.find_name(address);
    table.find_rule(address);
    table.find_inlined(file, address);
  }
}

BOOST_AUTO_TEST_SUITE(stacks_go_test)

BOOST_DATA_TEST_CASE(a_stripped_program_keeps_its_names_and_rules, data::make(kPrograms), program) {
  const std::string image = contents_of(program);
  const ElfFile file(image);
  const GoTable table = find_go_table(file);
  BOOST_TEST_REQUIRE(table.has_functions());
  const auto all = read_expected(program);
  BOOST_TEST(all.size() > 1000u);
  std::size_t with_inlined = 0, roots = 0, different = 0;
  for (const ExpectedFunctions& expected : all) {
    const auto functions = functions_at(table, file, expected.address);
    BOOST_TEST(functions.back() == expected.functions.back());
    different += functions != expected.functions;
    with_inlined += functions.size() > 1;
    const UnwindRule rule = table.find_rule(expected.address);
    BOOST_TEST((rule.cfa == Cfa::Sp));
    if (rule.ra == RegisterLocation::Undefined) {
      ++roots;
      continue;
    }
    BOOST_TEST((rule.ra == RegisterLocation::AtCfa && rule.ra_offset == -8));
    if (rule.cfa_offset != expected.cfa) BOOST_TEST(rule.cfa_offset == expected.cfa);
  }
  // Of methods that the compiler generated, debug information does not state what was inlined.
  BOOST_TEST(different <= all.size() / 1000);
  BOOST_TEST(with_inlined > 100u);
  BOOST_TEST(roots < 5u);
}

BOOST_DATA_TEST_CASE(finds_the_table_without_section_headers, data::make(kPrograms), program) {
  std::string image = contents_of(program);
  auto* header = reinterpret_cast<Elf64_Ehdr*>(image.data());
  header->e_shoff = 0;
  header->e_shnum = header->e_shstrndx = 0;
  const ElfFile file(image);
  const GoTable table = find_go_table(file);
  BOOST_TEST_REQUIRE(table.has_functions());
  for (const ExpectedFunctions& expected : read_expected(program))
    BOOST_TEST(functions_at(table, file, expected.address).back() == expected.functions.back());
}

BOOST_AUTO_TEST_CASE(stacks_of_goroutines_and_the_scheduler_end_at_roots) {
  const std::string image = contents_of("1.26");
  const ElfFile file(image);
  const GoTable table = find_go_table(file);
  std::vector<std::string> roots;
  for (FileAddress address = 0x401000; address < 0x490000; ++address)
    if (table.find_rule(address).ra == RegisterLocation::Undefined)
      if (const std::string name(table.find_name(address)); roots.empty() || roots.back() != name)
        roots.push_back(name);
  std::ranges::sort(roots);
  const std::vector<std::string> expected{"runtime.asmcgocall_landingpad",
                                          "runtime.goexit",
                                          "runtime.mcall",
                                          "runtime.mstart",
                                          "runtime.rt0_go",
                                          "runtime.systemstack"};
  BOOST_TEST(roots == expected, boost::test_tools::per_element());
}

// This function switches to the system stack, on which it calls C code.
BOOST_AUTO_TEST_CASE(calls_of_c_continue_on_another_stack) {
  const std::string image = contents_of("1.20");
  const ElfFile file(image);
  const GoTable table = find_go_table(file);
  std::size_t before = 0, after = 0;
  for (FileAddress address = 0x401000; address < 0x490000; ++address) {
    const bool is_on_other_stack = table.find_rule(address).ra == RegisterLocation::OnOtherStack;
    const bool is_asmcgocall = table.find_name(address) == "runtime.asmcgocall";
    if (is_on_other_stack && !is_asmcgocall) BOOST_ERROR("at " << address);
    if (is_asmcgocall) ++(is_on_other_stack ? after : before);
  }
  BOOST_TEST(before > 0u);  // addresses before the switch
  BOOST_TEST(after > 0u);
}

BOOST_AUTO_TEST_CASE(shares_the_table_of_a_file) {
  const std::string image = contents_of("1.26");
  const ElfFile file(image);
  const auto table = get_shared_go_table(file);
  BOOST_TEST(table->has_functions());
  BOOST_TEST(get_shared_go_table(file) == table);
  BOOST_TEST(!get_shared_go_table(ElfFile(std::string_view("no ELF")))->has_functions());
}

BOOST_AUTO_TEST_CASE(a_signal_frame_restores_the_saved_registers) {
  const std::string image = contents_of("1.26");
  const ElfFile file(image);
  const GoTable table = find_go_table(file);
  for (FileAddress address = 0x401000; address < 0x490000; ++address) {
    if (table.find_name(address) != "runtime.sigreturn__sigaction") continue;
    const UnwindRule rule = table.find_rule(address);
    BOOST_TEST(rule.is_signal);
    BOOST_TEST((rule.cfa == Cfa::AtSp && rule.ra == RegisterLocation::AtSp &&
                rule.bp == RegisterLocation::AtSp));
    BOOST_TEST(rule.cfa_offset == 160);
    BOOST_TEST(rule.ra_offset == 168);
    BOOST_TEST(rule.bp_offset == 120);
    return;
  }
  BOOST_ERROR("the program has no function that returns from signals");
}

BOOST_AUTO_TEST_CASE(files_without_go_code_have_no_table) {
  BOOST_TEST(!find_go_table(ElfFile(std::string_view("no ELF"))).has_functions());
  BOOST_TEST(!GoTable("", 0, kX86Registers).has_functions());
  BOOST_TEST(!GoTable(std::string(4096, '\xff'), 0, kX86Registers).has_functions());
  BOOST_TEST(GoTable().find_name(0).empty());
}

BOOST_DATA_TEST_CASE(reads_damaged_programs_within_their_bounds, data::make(kPrograms), program) {
  const std::string whole = contents_of(program);
  std::mt19937 random(5);
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  const ElfFile file(whole);
  const auto section = file.section(".gopclntab");
  const std::size_t begin = section ? section->sh_offset : 0;
  for (int i = 0; i < 40; ++i) {
    std::string image = whole;
    for (std::size_t changes = 1 + below(6); changes > 0; --changes)
      image[begin + below(i % 2 ? 128 : image.size() - begin)] = static_cast<char>(below(256));
    query_table(image);
  }
  for (int i = 0; i < 10; ++i) query_table(whole.substr(0, below(whole.size())));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::stacks_go_test
