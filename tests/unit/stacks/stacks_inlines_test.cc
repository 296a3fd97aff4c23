// Tests the resolution of inlined functions against llvm-symbolizer.

#include <boost/test/unit_test.hpp>

#include <stdio.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/stacks/debug_files.hpp"
#include "core/stacks/demangle.hpp"
#include "core/stacks/inlines.hpp"
#include "core/stacks/naming.hpp"
#include "core/stacks/symbols.hpp"
#include "tests/unit/stacks/elf_builder.hpp"
#include "tests/unit/stacks/stacks_variants.hpp"
#include "tests/unit/support/files.hpp"

namespace ctprof::tests::stacks_inlines_test {
namespace {

using Addresses = std::vector<FileAddress>;
using Names = std::vector<std::string>;
using Outcome = Inlines::Outcome;

const std::string kSymbolizer = "llvm-symbolizer-14";
constexpr auto kNoLimit = std::chrono::steady_clock::time_point::max();
constexpr auto kExpiredLimit = std::chrono::steady_clock::time_point::min();
constexpr std::chrono::hours kTimeout(24);

// Returns inlined functions, outermost first, without the function that contains them.
Names chain_of(const Inlines& inlines, std::size_t place) {
  Names names;
  for (const std::uint32_t name : inlines.chains[place]) names.push_back(inlines.names[name]);
  return names;
}

// Returns the same from llvm-symbolizer, an independent implementation. For each address it prints
// two lines per function, innermost first (name and source line), and an empty line.
std::vector<Names> chains_of_llvm(const std::string& path, const Addresses& addresses) {
  std::string input_path = "/tmp/stacks_inlines.XXXXXX";
  const sdk::Fd made(::mkstemp(input_path.data()));
  std::ofstream out(input_path);
  for (const FileAddress address : addresses) out << "0x" << std::hex << address << '\n';
  out.close();
  const std::string command = kSymbolizer + " --functions=linkage --no-demangle --inlines --obj='" +
                              path + "' <" + input_path;
  const std::unique_ptr<FILE, int (*)(FILE*)> output(::popen(command.c_str(), "r"), &::pclose);
  std::vector<Names> chains(1);
  char line[65536];
  while (::fgets(line, sizeof line, output.get())) {
    const std::string text(line, std::string_view(line).size() - 1);
    if (text.empty()) chains.emplace_back();
    if (text.empty() || !::fgets(line, sizeof line, output.get())) continue;
    chains.back().insert(chains.back().begin(), text);
  }
  chains.pop_back();
  for (Names& chain : chains) chain.erase(chain.begin());
  std::filesystem::remove(input_path);
  return chains;
}

bool is_loaded(const std::string& library) {
  return file_text("/proc/self/maps").find(library) != std::string::npos;
}

// A copy of the program whose section .debug_str claims this size; the file is extended to match.
class EnlargedFile {
 public:
  explicit EnlargedFile(std::uint64_t size) : path_("/tmp/stacks_inlines.XXXXXX") {
    const sdk::Fd made(::mkstemp(path_.data()));
    std::filesystem::copy_file(unstripped_path(), path_,
                               std::filesystem::copy_options::overwrite_existing);
    const OpenedFile whole(path_);
    const auto sections = whole.file.sections();
    const auto strings = *whole.file.section(".debug_str");
    const auto place = std::ranges::find(sections, strings.sh_offset, &Elf64_Shdr::sh_offset);
    Elf64_Ehdr header{};
    BOOST_REQUIRE(whole.file.read(0, &header, sizeof header));
    const auto at = header.e_shoff + sizeof(Elf64_Shdr) * (place - sections.begin());
    std::fstream file(path_);
    file.seekp(static_cast<std::streamoff>(at + offsetof(Elf64_Shdr, sh_size)));
    file.write(reinterpret_cast<const char*>(&size), sizeof size);
    file.close();
    std::filesystem::resize_file(path_, strings.sh_offset + size);
  }
  ~EnlargedFile() { std::filesystem::remove(path_); }
  EnlargedFile(const EnlargedFile&) = delete;
  EnlargedFile& operator=(const EnlargedFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(stacks_inlines_test, *boost::unit_test::precondition(has_variants))

// This case must be the first: it checks that the library is loaded only on demand.
BOOST_AUTO_TEST_CASE(loads_libdw_only_on_demand) {
  BOOST_TEST(!is_loaded("libdw"));
  const OpenedFile none("/proc/self/exe");
  find_inlines(none.file, {}, {}, kNoLimit);
  BOOST_TEST(is_loaded("libdw"));
}

BOOST_AUTO_TEST_CASE(agrees_with_llvm_symbolizer) {
  if (::system(("command -v " + kSymbolizer + " >/dev/null").c_str()) != 0) {
    BOOST_TEST_MESSAGE(kSymbolizer << " is not installed: nothing to compare");
    return;
  }
  const char* other = std::getenv("CTPROF_INLINES_OF");
  const std::string path = other ? other : unstripped_path();
  const OpenedFile opened(path);
  const Addresses addresses = addresses_in(opened.file, other ? 97 : 3);
  const auto start = std::chrono::steady_clock::now();
  const Inlines inlines = find_inlines(opened.file, {}, addresses, kNoLimit);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  BOOST_TEST_REQUIRE((inlines.outcome == Outcome::Complete));
  const auto expected = chains_of_llvm(path, addresses);
  BOOST_TEST_REQUIRE(expected.size() == addresses.size());
  std::size_t differing = 0, deepest = 0;
  std::map<std::string, int> function_counts;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const Names chain = chain_of(inlines, i);
    for (const std::string& name : chain) ++function_counts[name];
    deepest = std::max(deepest, chain.size());
    if (chain == expected[i]) continue;
    if (++differing < 10) {
      BOOST_TEST_MESSAGE(std::hex << addresses[i] << std::dec);
      for (const std::string& name : chain) BOOST_TEST_MESSAGE("  ours  " << name);
      for (const std::string& name : expected[i]) BOOST_TEST_MESSAGE("  llvm  " << name);
    }
  }
  BOOST_TEST_MESSAGE(addresses.size()
                     << " addresses, " << function_counts.size() << " functions, up to " << deepest
                     << " deep, " << differing << " differing, " << took.count() << " ms");
  BOOST_TEST(differing == 0u);
  BOOST_TEST(deepest >= 2u);
}

BOOST_AUTO_TEST_CASE(reports_a_file_without_debug_information) {
  const OpenedFile found(variant_path("found"));
  const Inlines inlines = find_inlines(found.file, {}, addresses_in(found.file, 16), kNoLimit);
  BOOST_TEST((inlines.outcome == Outcome::NoInfo));
  BOOST_TEST(std::ranges::all_of(inlines.chains, [](const auto& chain) { return chain.empty(); }));
}

BOOST_AUTO_TEST_CASE(stops_at_the_time_limit) {
  const OpenedFile opened(unstripped_path());
  const Addresses addresses = addresses_in(opened.file, 3);
  const Inlines inlines = find_inlines(opened.file, {}, addresses, kExpiredLimit);
  BOOST_TEST((inlines.outcome == Outcome::Incomplete));
  BOOST_TEST(inlines.chains.size() == addresses.size());
}

BOOST_AUTO_TEST_CASE(refuses_sections_that_are_too_large) {
  const EnlargedFile large(600 << 20), small(60 << 20);
  const Addresses addresses{0x1000};
  const auto outcome = [&](const EnlargedFile& enlarged_file) {
    return find_inlines(OpenedFile(enlarged_file.path()).file, {}, addresses, kNoLimit).outcome;
  };
  BOOST_TEST((outcome(large) == Outcome::TooLarge));
  BOOST_TEST((outcome(small) == Outcome::Complete));
}

// dwz moves common parts of several files to another file.
BOOST_AUTO_TEST_CASE(reads_information_that_dwz_moved_to_another_file) {
  if (!std::filesystem::exists(variant_path("dwzed")))
    return void(BOOST_TEST_MESSAGE("dwz is not installed: nothing is moved"));
  const OpenedFile whole(unstripped_path()), dwzed(variant_path("dwzed"));
  const Addresses addresses = addresses_in(whole.file, 3);
  DebugFiles files({variant_path("debug")});
  const ElfFile* moved = files.find_dwz_file(dwzed.file, variant_path("dwzed"));
  BOOST_TEST_REQUIRE(moved);
  const Inlines expected = find_inlines(whole.file, {}, addresses, kNoLimit);
  const Inlines with = find_inlines(dwzed.file, {.dwz_file = moved}, addresses, kNoLimit);
  const Inlines without = find_inlines(dwzed.file, {}, addresses, kNoLimit);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    BOOST_TEST(chain_of(with, i) == chain_of(expected, i));
    BOOST_TEST(without.chains[i].size() == expected.chains[i].size());
  }
  BOOST_TEST(std::ranges::count(without.names, std::string()) > 0);
  BOOST_TEST(without.lacks_dwz_file);
  BOOST_TEST(!with.lacks_dwz_file);
}

// No directory contains the file of dwz; it is found through the link in the program.
BOOST_AUTO_TEST_CASE(finds_the_file_of_dwz_by_its_link) {
  if (!std::filesystem::exists(variant_path("dwzed"))) return;
  const OpenedFile dwzed(variant_path("dwzed"));
  DebugFiles files({}), with_file_capabilities({}, true),
      never({}, false, DebugFiles::SearchModuleDirectory::Never);
  BOOST_TEST(files.find_dwz_file(dwzed.file, variant_path("dwzed")));
  BOOST_TEST(!with_file_capabilities.find_dwz_file(dwzed.file, variant_path("dwzed")));
  BOOST_TEST(!never.find_dwz_file(dwzed.file, variant_path("dwzed")));
  std::string requested_path;
  never.set_open_named([&](const std::string& path) {
    requested_path = path;
    return sdk::Fd();
  });
  BOOST_TEST(!never.find_dwz_file(dwzed.file, variant_path("dwzed")));
  BOOST_TEST(requested_path.ends_with("dwzed.common"));
}

// Compares the chains of all addresses in a variant of the program with those of the program.
void check_same_chains(const std::string& whole_path, const std::string& path,
                       const DebugSources& sources) {
  const OpenedFile whole(whole_path), other(path);
  const Addresses addresses = addresses_in(whole.file, 3);
  const Inlines expected = find_inlines(whole.file, {}, addresses, kNoLimit);
  const Inlines inlines = find_inlines(other.file, sources, addresses, kNoLimit);
  BOOST_TEST((inlines.outcome == Outcome::Complete));
  BOOST_TEST(inlines.missing_split_units == 0u);
  std::size_t differing = 0, inlined = 0;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    differing += chain_of(inlines, i) != chain_of(expected, i);
    inlined += expected.chains[i].size();
  }
  BOOST_TEST(differing == 0u);
  BOOST_TEST(inlined > 0u);
}

BOOST_AUTO_TEST_CASE(reads_sections_compressed_with_zstd) {
  if (!std::filesystem::exists(variant_path("zstd")))
    return void(BOOST_TEST_MESSAGE("objcopy cannot pack by zstd"));
  check_same_chains(unstripped_path(), variant_path("zstd"), {});
}

BOOST_AUTO_TEST_CASE(reads_split_units) {
  for (const char* name : {"split", "split4", "packaged", "packaged4"}) {
    if (!std::filesystem::exists(variant_path(name))) continue;
    BOOST_TEST_CONTEXT(name) {
      check_same_chains(variant_path("unsplit"), variant_path(name),
                        {.open = open_regular, .program_path = variant_path(name)});
      const OpenedFile split(variant_path(name));
      const Addresses addresses = addresses_in(split.file, 3);
      const Inlines without = find_inlines(split.file, {}, addresses, kNoLimit);
      BOOST_TEST(without.missing_split_units == 1u);
      BOOST_TEST(without.names.empty());
    }
  }
}

// A rebuilt .dwo file belongs to another program.
BOOST_AUTO_TEST_CASE(refuses_split_units_of_another_program) {
  const OpenedFile split(variant_path("split"));
  const auto open = [](const std::string& path) {
    return path.ends_with(".dwo") ? open_regular(variant_path("split4-stacks_named.dwo"))
                                  : sdk::Fd();
  };
  const Inlines inlines =
      find_inlines(split.file, {.open = open, .program_path = variant_path("split")},
                   addresses_in(split.file, 3), kNoLimit);
  BOOST_TEST(inlines.missing_split_units == 1u);
  BOOST_TEST(inlines.names.empty());
}

// Files with a damaged byte at any place are read within their bounds.
BOOST_AUTO_TEST_CASE(reads_damaged_units_within_their_bounds) {
  for (const auto& [name, file] :
       {std::pair{"split", "split-stacks_named.dwo"}, {"packaged", "packaged.dwp"}}) {
    if (!std::filesystem::exists(variant_path(file))) continue;
    const OpenedFile program(variant_path(name));
    const Addresses addresses = addresses_in(program.file, 64);
    const std::string whole = file_text(variant_path(file));
    for (std::size_t at = 0; at < whole.size(); at += whole.size() / 60) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x81);
      const auto open = [&, name_of_file = std::string_view(file)](const std::string& path) {
        const bool is_wanted = path.ends_with(name_of_file.substr(5));
        return is_wanted ? ElfBuilder::memory_file(damaged) : sdk::Fd();
      };
      const Inlines inlines = find_inlines(
          program.file, {.open = open, .program_path = variant_path(name)}, addresses, kNoLimit);
      BOOST_TEST(inlines.chains.size() == addresses.size());
    }
  }
}

BOOST_AUTO_TEST_CASE(reads_compressed_symbol_lists) {
  if (!std::filesystem::exists(variant_path("symbols")))
    return void(BOOST_TEST_MESSAGE("eu-elfcompress is not installed"));
  const OpenedFile whole(unstripped_path()), packed(variant_path("symbols"));
  const Addresses addresses = addresses_in(whole.file, 16);
  const Names expected = find_names_in_file(whole.file, addresses);
  BOOST_TEST(find_names_in_file(packed.file, addresses) == expected);
  NameWork small_budget(1000);
  find_names_in_file(packed.file, addresses, nullptr, small_budget);
  BOOST_TEST(small_budget.is_exceeded());
}

// Each reason has its own message.
BOOST_AUTO_TEST_CASE(reports_reasons_for_missing_functions) {
  StackTable table;
  const auto add = [&](const char* name) {
    const OpenedFile opened(variant_path(name));
    const std::uint32_t module = table.add_module(
        {Module::Kind::File, variant_path(name), opened.file.build_id() + name, 0, 0});
    for (std::uint64_t offset = 0x1000; offset < 0x1300; offset += 5)
      table.add_frame({offset, module});
    return module;
  };
  const std::uint32_t found = add("found"), split = add("split");
  std::vector<std::unique_ptr<OpenedFile>> opened;
  NameSources sources{[&](std::uint32_t module) {
                        opened.push_back(std::make_unique<OpenedFile>(
                            variant_path(module == found ? "found" : "split")));
                        return &opened.back()->file;
                      },
                      [](std::uint64_t) { return std::string(); }, [] { return std::string(); }};
  const InlineExpansion made = expand_inlines(table, sources, kTimeout);
  BOOST_REQUIRE(made.without_debug_information.size() == 1u);
  BOOST_TEST(made.without_debug_information[0].path == table.modules()[found].path);
  BOOST_REQUIRE(made.without_split_units.size() == 1u);
  BOOST_TEST(made.without_split_units[0].path == table.modules()[split].path);
  BOOST_TEST(made.without_dwz_file.empty());
}

// Adds a stack with all addresses of the program, as frames of the stripped variant.
BOOST_AUTO_TEST_CASE(adds_frames_for_inlined_functions) {
  const OpenedFile whole(unstripped_path()), found(variant_path("found"));
  StackTable table;
  const std::uint32_t module =
      table.add_module({Module::Kind::File, variant_path("found"), found.file.build_id(), 0, 0});
  std::vector<Frame> frames;
  for (std::uint64_t offset = 0x1000; offset < 0x1300; offset += 5)
    if (whole.file.code_address(offset)) frames.push_back({offset, module});
  const std::uint32_t node = table.add_stack(frames, WalkEnd::Root);
  DebugFiles files({variant_path("debug")});
  const NameSources sources = make_local_sources(files, table);
  name_frames(table, sources, {.max_time = kTimeout});
  const InlineExpansion made = expand_inlines(table, sources, kTimeout);
  BOOST_TEST(made.complete_modules == 1u);
  BOOST_TEST(made.limited_modules == 0u);
  Names names, expected;
  for (const std::uint32_t frame : made.table.get_stack_frames(made.nodes[node]))
    names.push_back(made.table.get_name(frame));
  for (const Frame& frame : frames) {
    const std::vector address{*whole.file.code_address(frame.offset)};
    const Inlines inlines = find_inlines(whole.file, {}, address, kNoLimit);
    for (std::size_t i = inlines.chains[0].size(); i > 0; --i)
      expected.push_back(demangle(chain_of(inlines, 0)[i - 1]));
    expected.push_back(demangle(find_names_in_file(whole.file, address)[0]));
  }
  BOOST_TEST(names == expected, boost::test_tools::per_element());
  BOOST_TEST(names.size() > frames.size());
  const InlineExpansion again = expand_inlines(made.table, sources, kTimeout);
  BOOST_TEST(again.complete_modules == 0u);
  BOOST_TEST(again.table.nodes().size() == made.table.nodes().size());
  BOOST_TEST(expand_inlines(table, sources, std::chrono::seconds(0)).limited_modules == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace ctprof::tests::stacks_inlines_test
