// Tests which function of a file contains an address, and which of its names is selected.

#include <boost/test/unit_test.hpp>

#include <sys/auxv.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/stacks/modules.hpp"
#include "core/stacks/symbols.hpp"
#include "tests/unit/stacks/section_builder.hpp"

namespace ctprof::tests::stacks_symbols_test {
namespace {

using Names = std::vector<std::string>;
using Addresses = std::vector<FileAddress>;
using Symbols = std::vector<TestSymbol>;

constexpr std::uint64_t kFirst = 0x4000, kSecond = 0x4040;

Names names_in(const std::string& image, const Addresses& addresses) {
  const ElfFile file(image);
  BOOST_TEST_REQUIRE(file.is_valid());
  return find_names_in_file(file, addresses);
}

// Returns an image with one symbol list.
std::string image_with_symbols(std::uint32_t type, const Symbols& symbols,
                               const ElfBuilder& elf = ElfBuilder()) {
  SectionBuilder sections(elf.image());
  sections.add_symbol_list(type, symbols);
  return sections.image();
}

// Returns a file with call frame information of two adjacent functions.
ElfBuilder elf_with_two_functions() {
  ElfBuilder elf;
  elf.add_common_entry(kX86InitialRules);
  elf.add_function(kFirst, 64, "");
  elf.add_function(kSecond, 64, "");
  return elf;
}

// Returns the selected name of the function at kFirst.
std::string selected_name(std::uint32_t type, const Symbols& symbols) {
  return names_in(image_with_symbols(type, symbols), Addresses{kFirst + 4}).front();
}

void set_header(std::string& image, std::uint16_t type, FileAddress entry) {
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof header);
  header.e_type = type;
  header.e_entry = entry;
  image.replace(0, sizeof header, bytes_of(header));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stacks_symbols_test)

// Otherwise the wait functions of musl would be named memset, the last exported function before
// them.
BOOST_AUTO_TEST_CASE(ends_functions_without_size_where_another_function_begins) {
  const Symbols symbols{{"memset", kFirst}};
  const Addresses addresses{kFirst, kFirst + 0x3f, kSecond, kSecond + 8, 0x5000};
  for (const std::uint32_t type : {SHT_DYNSYM, SHT_SYMTAB}) BOOST_TEST_CONTEXT(type) {
      const Names names =
          names_in(image_with_symbols(type, symbols, elf_with_two_functions()), addresses);
      BOOST_TEST(names[0] == "memset");
      BOOST_TEST(names[1] == "memset");
      BOOST_TEST(names[2] == "");
      BOOST_TEST(names[3] == "");
      BOOST_TEST(names[4] == (type == SHT_SYMTAB ? "memset" : ""));
    }
}

BOOST_AUTO_TEST_CASE(names_only_the_start_of_functions_without_size_and_call_frame_information) {
  const Symbols symbols{{"memset", kFirst}};
  const Addresses addresses{kFirst, kFirst + 1, kFirst + 0x100};
  BOOST_TEST(names_in(image_with_symbols(SHT_DYNSYM, symbols), addresses) ==
             (Names{"memset", "", ""}));
  BOOST_TEST(names_in(image_with_symbols(SHT_SYMTAB, symbols), addresses) ==
             (Names{"memset", "memset", "memset"}));
}

// The size of a function determines its end.
BOOST_AUTO_TEST_CASE(names_the_enclosing_function_after_one_without_size) {
  const Symbols symbols{{"enclosing", kFirst - 0x40, 0x200}, {"inner", kFirst}};
  const Addresses addresses{kFirst + 4, kSecond + 4};
  BOOST_TEST(names_in(image_with_symbols(SHT_DYNSYM, symbols, elf_with_two_functions()),
                      addresses) == (Names{"inner", "enclosing"}));
}

BOOST_AUTO_TEST_CASE(removes_versions_from_names) {
  const Symbols symbols{{"memcpy@@GLIBC_2.14", kFirst, 32}, {"poll@GLIBC_2.2.5", kSecond, 32}};
  const Addresses addresses{kFirst, kSecond};
  for (const std::uint32_t type : {SHT_DYNSYM, SHT_SYMTAB})
    BOOST_TEST(names_in(image_with_symbols(type, symbols), addresses) == (Names{"memcpy", "poll"}));
}

// The order of the list has no effect, so that a stripped file and its debug file agree.
BOOST_AUTO_TEST_CASE(selects_the_global_default_name_among_aliases) {
  Symbols symbols{
      {"aaa_local", kFirst, 32, STB_LOCAL}, {"aa_hidden", kFirst, 32, STB_GLOBAL, STV_HIDDEN},
      {"weak", kFirst, 32, STB_WEAK},       {"old@GLIBC_2.2.5", kFirst, 32},
      {"__exported", kFirst, 32},           {"exported@@GLIBC_2.34", kFirst, 32},
      {"exported_too", kFirst, 32}};
  const auto by_name = [](const TestSymbol& a, const TestSymbol& b) { return a.name < b.name; };
  std::ranges::sort(symbols, by_name);
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    BOOST_TEST(selected_name(SHT_SYMTAB, symbols) == "exported");
    std::rotate(symbols.begin(), symbols.begin() + 1, symbols.end());
  }
  Symbols dynamic{{"weak", kFirst, 32, STB_WEAK},
                  {"old", kFirst, 32, STB_GLOBAL, STV_DEFAULT, true},
                  {"__exported", kFirst, 32},
                  {"exported", kFirst, 32},
                  {"exported_too", kFirst, 32}};
  for (std::size_t i = 0; i < dynamic.size(); ++i) {
    BOOST_TEST(selected_name(SHT_DYNSYM, dynamic) == "exported");
    std::rotate(dynamic.begin(), dynamic.begin() + 1, dynamic.end());
  }
}

BOOST_AUTO_TEST_CASE(selects_local_names_if_there_are_no_others) {
  const Symbols symbols{{"__b", kFirst, 32, STB_LOCAL}, {"a", kFirst, 32, STB_LOCAL}};
  BOOST_TEST(selected_name(SHT_SYMTAB, symbols) == "a");
}

BOOST_AUTO_TEST_CASE(names_plt_entries) {
  constexpr std::uint64_t kPlt = 0x6000, kSlots = 0x8000;
  SectionBuilder sections(ElfBuilder().image());
  const std::uint32_t list = sections.add_symbol_list(SHT_DYNSYM, {{"read", 0}, {"write", 0}});
  const auto relocation = [](std::uint64_t slot, std::uint64_t symbol) {
    return bytes_of(Elf64_Rela{slot, ELF64_R_INFO(symbol, R_X86_64_JUMP_SLOT), 0});
  };
  sections.add_section(".rela.plt", SHT_RELA, relocation(kSlots, 1) + relocation(kSlots + 8, 2),
                       list);
  // A jump through the slot of read; a landing pad and a jump through the slot of write; a push of
  // the relocation number of write; and the common code that all pushes jump to.
  const auto distance = [](std::uint64_t from, std::uint64_t to) {
    return bytes_of(static_cast<std::int32_t>(static_cast<std::int64_t>(to - from)));
  };
  std::string code_bytes = "\xff\x25" + distance(kPlt + 6, kSlots);
  code_bytes.resize(16, '\x90');
  code_bytes += "\xf3\x0f\x1e\xfa\xf2\xff\x25" + distance(kPlt + 16 + 11, kSlots + 8);
  code_bytes.resize(32, '\x90');
  code_bytes += "\xf3\x0f\x1e\xfa\x68" + bytes_of(std::uint32_t{1}) + "\xf2\xe9";
  code_bytes.resize(48, '\x90');
  code_bytes += "\xff\x35" + bytes_of(std::uint32_t{8}) + "\xff\x25" + bytes_of(std::uint32_t{16});
  sections.add_part(".plt", kPlt, 64, code_bytes);
  BOOST_TEST(names_in(sections.image(), Addresses{kPlt - 1, kPlt, kPlt + 15, kPlt + 20, kPlt + 40,
                                                  kPlt + 50, kPlt + 64}) ==
             (Names{"", "read@plt", "read@plt", "write@plt", "write@plt", "", ""}));
}

BOOST_AUTO_TEST_CASE(names_the_first_function_of_a_program) {
  std::string program = elf_with_two_functions().image();
  const Addresses addresses{kFirst, kFirst + 0x3f, kSecond};
  set_header(program, ET_EXEC, kFirst);
  BOOST_TEST(names_in(program, addresses) == (Names{"_start", "_start", ""}));
  set_header(program, ET_DYN, kFirst);  // a library
  BOOST_TEST(names_in(program, addresses) == (Names{"", "", ""}));
  set_header(program, ET_EXEC, kFirst + 1);  // no function starts there
  BOOST_TEST(names_in(program, addresses) == (Names{"", "", ""}));
}

// The section headers that lead to its symbols come after the loaded part.
BOOST_AUTO_TEST_CASE(names_functions_of_the_vdso,
                     *boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
                       return ::getauxval(AT_SYSINFO_EHDR) != 0;
                     })) {
  Modules modules([](std::uint64_t, const CodeRange&, const std::string&) { return sdk::Fd(); });
  const std::uint32_t vdso = modules.make_code_range(7, {0x1000, 0x2000, 0, {}, "[vdso]"}).module;
  const ElfFile* file = modules.file(vdso);
  BOOST_TEST_REQUIRE((file && file->is_valid()));
  Addresses addresses;
  for (const Elf64_Phdr& segment : file->segments())
    for (std::uint64_t at = 0; segment.p_type == PT_LOAD && at < segment.p_filesz; at += 16)
      addresses.push_back(segment.p_vaddr + at);
  const Names names = find_names_in_file(*file, addresses);
  BOOST_TEST(std::ranges::any_of(names, [](const std::string& name) {
    return name.find("clock_gettime") != std::string::npos;
  }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace ctprof::tests::stacks_symbols_test
