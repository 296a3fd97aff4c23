// Tests the limits on work with symbol lists that cause the maximum of work. Work is counted in
// steps, so all expected counts are exact.

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "core/snapshot/stack_names.hpp"
#include "core/stacks/naming.hpp"
#include "core/stacks/symbols.hpp"
#include "tests/unit/stacks/section_builder.hpp"

namespace ctprof::tests::stacks_name_limits_test {
namespace {

constexpr std::uint64_t kStart = 0x4000;

constexpr std::uint64_t kSymbols = 200, kTextSize = 8000;

// Returns a file with functions of 16 bytes each, whose names are suffixes of one long text.
std::string image_with_suffix_names() {
  std::string image = ElfBuilder().image(), symbols;
  for (std::uint64_t i = 0; i < kSymbols; ++i)
    symbols += bytes_of(Elf64_Sym{static_cast<Elf64_Word>(i), STT_FUNC, 0, 1, kStart + 16 * i, 16});
  SectionHeaders sections;
  Elf64_Shdr list{}, texts{};
  list.sh_type = SHT_SYMTAB;
  list.sh_offset = image.size();
  list.sh_size = symbols.size();
  list.sh_link = 1;
  texts.sh_type = SHT_STRTAB;
  texts.sh_offset = image.size() + symbols.size();
  texts.sh_size = kTextSize + 1;
  sections.add(".symtab", list);
  sections.add(".strtab", texts);
  return sections.append_to(image + symbols + std::string(kTextSize, 'x') + '\0');
}

std::vector<FileAddress> addresses_of_functions(std::uint64_t count) {
  std::vector<FileAddress> addresses;
  for (std::uint64_t i = 0; i < count; ++i) addresses.push_back(kStart + 16 * i);
  return addresses;
}

std::size_t count_named(const std::vector<std::string>& names) {
  return static_cast<std::size_t>(
      std::ranges::count_if(names, [](const std::string& name) { return !name.empty(); }));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stacks_name_limits_test)

BOOST_AUTO_TEST_CASE(messages_name_three_modules_and_count_the_others) {
  const std::vector<Module> modules{{Module::Kind::File, "/bin/a", {}, 0},
                                    {Module::Kind::Anonymous, {}, {}, 7},
                                    {Module::Kind::File, "/bin/c", {}, 0},
                                    {Module::Kind::File, "/bin/d", {}, 0},
                                    {Module::Kind::File, "/bin/e", {}, 0}};
  const auto describe_first = [&](std::size_t count) {
    return describe_modules(
        {modules.begin(), modules.begin() + static_cast<std::ptrdiff_t>(count)});
  };
  BOOST_TEST(describe_first(1) == "'/bin/a'");
  BOOST_TEST(describe_first(2) == "'/bin/a', process 7");
  BOOST_TEST(describe_first(3) == "'/bin/a', process 7, '/bin/c'");
  BOOST_TEST(describe_first(4) == "'/bin/a', process 7, '/bin/c' and 1 other");
  BOOST_TEST(describe_first(5) == "'/bin/a', process 7, '/bin/c' and 2 others");
}

BOOST_AUTO_TEST_CASE(each_reason_for_missing_inlined_functions_has_a_message) {
  const std::string start = "cannot find all inlined functions: ",
                    limit =
                        start + "the debug information is too large, or reading it took too long: ";
  const std::vector<Module> files{{Module::Kind::File, "/bin/a", {}, 0}};
  using Messages = std::vector<std::string>;
  const auto check = [](const NamingResult& names, const Messages& expected) {
    BOOST_TEST(missing_inlines_messages(names) == expected, boost::test_tools::per_element());
  };
  check({}, {});
  check({.oversized_modules = 1}, {limit + "1 file"});
  check({.oversized_modules = 2}, {limit + "2 files"});
  check({.without_info = files},
        {start + "'/bin/a': no debug information; specify its directory with --debug-dir"});
  check({.without_moved = files},
        {start + "'/bin/a': the file that dwz moved debug information to is missing"});
  check({.without_split = files},
        {start + "'/bin/a': debug information in .dwo or .dwp files is missing"});
  check({.has_reader = false},
        {"cannot resolve inlined functions: 'libdw.so.1': library not found; "
         "install libdw1"});
}

// Names that are suffixes of one text took 500 MiB without the limit.
BOOST_AUTO_TEST_CASE(reads_names_up_to_the_limit) {
  const std::string image = image_with_suffix_names();
  const ElfFile file(image);
  const auto addresses = addresses_of_functions(kSymbols);
  NameWork enough;
  BOOST_TEST(count_named(find_names_in_file(file, addresses, nullptr, enough)) == kSymbols);
  BOOST_TEST(!enough.is_exceeded());
  const std::uint64_t list = kSymbols * sizeof(Elf64_Sym);
  NameWork work(list + (3 * kTextSize - 0 - 1 - 2) * NameWork::kStepsPerNameByte);
  const auto names = find_names_in_file(file, addresses, nullptr, work);
  BOOST_TEST(count_named(names) == 3u);
  BOOST_TEST(names[2].size() == kTextSize - 2);
  BOOST_TEST(work.is_exceeded());
  BOOST_TEST(work.get_remaining_steps() == 0u);
}

// With only a part of the symbols, the nearest symbol may be the wrong one.
BOOST_AUTO_TEST_CASE(does_not_search_incomplete_lists) {
  const std::string image = image_with_suffix_names();
  const ElfFile file(image);
  NameWork work(kSymbols * sizeof(Elf64_Sym) - 1);
  BOOST_TEST(count_named(find_names_in_file(file, addresses_of_functions(1), nullptr, work)) == 0u);
  BOOST_TEST(work.is_exceeded());
  const std::string map = "1000 1000 outer\n1100 10 inner\n";
  NameWork of_map(map.size() * NameWork::kStepsPerTextByte - 1);
  const std::vector<std::uint64_t> address{0x1105};
  BOOST_TEST(find_names_in_perf_map(map, address, of_map)[0] == "");
  BOOST_TEST(of_map.is_exceeded());
}

// Several sections of one type that refer to the same bytes.
BOOST_AUTO_TEST_CASE(counts_each_list_of_symbols) {
  SectionHeaders sections;
  Elf64_Shdr list{};
  list.sh_type = SHT_DYNSYM;
  list.sh_size = ElfBuilder::kSize;
  for (int i = 0; i < 100; ++i) sections.add("", list);
  const std::string image = sections.append_to(ElfBuilder().image());
  const ElfFile file(image);
  NameWork work(10 * ElfBuilder::kSize);
  find_names_in_file(file, addresses_of_functions(1), nullptr, work);
  BOOST_TEST(work.is_exceeded());
  BOOST_TEST(work.get_remaining_steps() == 0u);
}

// 65,536 sections with one name of a megabyte took seconds for each section that was looked up.
BOOST_AUTO_TEST_CASE(compares_the_full_name_of_sections) {
  SectionHeaders sections;
  Elf64_Shdr header{};
  const std::vector<std::string> names{".eh_fram", ".eh_frame_hdr", ".eh_frame", ".eh_frame"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    header.sh_info = static_cast<Elf64_Word>(i);
    sections.add(names[i], header);
  }
  const std::string image = sections.append_to(ElfBuilder().image());
  const ElfFile file(image);
  for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(file.section(names[i])->sh_info == i);
  BOOST_TEST(!file.section(".eh_frame_"));
  BOOST_TEST(!file.section("eh_frame_hdrs"));
}

BOOST_AUTO_TEST_CASE(names_small_modules_regardless_of_large_ones) {
  const std::string image = image_with_suffix_names();
  const ElfFile file(image);
  StackTable table;
  std::vector<Frame> frames;
  const std::uint32_t hostile = table.add_module({Module::Kind::File, "/tmp/hostile", "", 0});
  for (const FileAddress address : addresses_of_functions(kSymbols))
    frames.push_back({address, hostile});
  const std::uint32_t jit = table.add_module({Module::Kind::Anonymous, "", "", 42});
  frames.push_back({0x501, jit});
  for (const Frame& frame : frames) table.add_stack({&frame, 1}, WalkEnd::Root);
  const NameSources sources{[&](std::uint32_t) { return &file; },
                            [](std::uint64_t) { return std::string("500 8 made\n"); },
                            [] { return std::string(); }};
  const FrameNamingLimits limits{.steps = 1 << 20,
                                 .steps_per_module = 1 << 19,
                                 .first_steps_per_module = 1 << 10,
                                 .max_time = std::chrono::hours(1)};
  const NamedFrames named = name_frames(table, sources, limits);
  BOOST_TEST(named.limited_modules == std::vector<std::uint32_t>{hostile});
  BOOST_TEST(named.steps <= limits.steps);
  BOOST_TEST(named.steps > limits.steps_per_module - NameWork::kStepsPerNameByte * kTextSize);
  const std::uint64_t read = (limits.steps_per_module - kSymbols * sizeof(Elf64_Sym)) /
                             (NameWork::kStepsPerNameByte * kTextSize);
  BOOST_TEST(named.unnamed_frames == kSymbols - read);
  BOOST_TEST(table.get_name(static_cast<std::uint32_t>(table.frames().size() - 1)) == "made");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace ctprof::tests::stacks_name_limits_test
