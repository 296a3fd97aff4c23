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

// The aliases of one function, and its name in the source code of a caller.
struct AliasCase {
  std::string name;
  std::uint32_t list;
  Symbols aliases;
};

TestSymbol local(std::string name) { return {std::move(name), kFirst, 32, STB_LOCAL}; }
TestSymbol global(std::string name) { return {std::move(name), kFirst, 32}; }
TestSymbol weak(std::string name) { return {std::move(name), kFirst, 32, STB_WEAK}; }
TestSymbol hidden(std::string name) {
  return {std::move(name), kFirst, 32, STB_GLOBAL, STV_HIDDEN};
}
// Returns a symbol with a version that is not the default, which only .gnu.version shows.
TestSymbol old(std::string name) {
  return {std::move(name), kFirst, 32, STB_GLOBAL, STV_DEFAULT, true};
}

// Aliases as readelf shows them in libraries of Debian 12.
std::vector<AliasCase> glibc_aliases() {
  constexpr std::uint32_t kStatic = SHT_SYMTAB, kDynamic = SHT_DYNSYM, kDebug = SHT_SYMTAB;
  return {
      {"pthread_cond_wait",
       kStatic,
       {global("___pthread_cond_wait"), hidden("__pthread_cond_wait"), weak("pthread_cond_wait")}},
      {"sem_wait", kStatic, {global("__new_sem_wait"), weak("sem_wait")}},
      {"malloc", kStatic, {global("__malloc"), global("malloc"), hidden("__libc_malloc")}},
      {"calloc", kStatic, {global("__calloc"), global("__libc_calloc"), weak("calloc")}},
      {"poll", kDynamic, {weak("poll"), global("__poll")}},
      {"fork", kDynamic, {global("__libc_fork"), weak("fork"), global("__fork")}},
      {"fwrite", kDynamic, {global("_IO_fwrite"), weak("fwrite")}},
      {"malloc", kDynamic, {global("__libc_malloc"), global("malloc")}},
      {"free", kDynamic, {global("__libc_free"), old("cfree"), global("free")}},
      {"lseek", kDynamic, {global("__lseek"), weak("lseek"), old("llseek"), weak("lseek64")}},
      {"strchr", kDynamic, {weak("index"), global("strchr")}},
      {"memcmp", kDynamic, {weak("bcmp"), global("memcmp")}},
      {"_exit", kDynamic, {weak("_Exit"), global("_exit")}},
      {"pthread_cond_wait",
       kDebug,
       {local("__GI___pthread_cond_wait"), local("___pthread_cond_wait"),
        global("pthread_cond_wait@@GLIBC_2.3.2")}},
      {"free",
       kDebug,
       {local("__GI___libc_free"), global("__libc_free"), global("cfree@GLIBC_2.2.5"),
        global("free")}},
      {"memcpy",
       kDebug,
       {local("memcpy"), local("__new_memcpy_ifunc"), local("__new_memcpy"), local("__GI_memcpy"),
        global("memcpy@@GLIBC_2.14")}},
      {"__memcpy_avx_unaligned_erms",
       kDebug,
       {local("__memmove_avx_unaligned_erms"), local("__memcpy_avx_unaligned_erms")}},
  };
}

// Underscores of mangling are not in the source code. The compiler merged two functions of Rust.
std::vector<AliasCase> other_aliases() {
  return {
      {"pthread_cond_timedwait",
       SHT_SYMTAB,
       {hidden("__pthread_cond_timedwait"), weak("pthread_cond_timedwait")}},  // musl
      {"isalnum_l", SHT_DYNSYM, {weak("isalnum_l"), global("__isalnum_l")}},
      {"euidaccess", SHT_DYNSYM, {weak("eaccess"), global("euidaccess")}},
      {"_ZNSt18condition_variableC1Ev",  // libstdc++
       SHT_DYNSYM,
       {global("_ZNSt18condition_variableC2Ev"), global("_ZNSt18condition_variableC1Ev")}},
      {"_ZNSs7_M_moveEPcPKcm",
       SHT_DYNSYM,
       {old("_ZNSs7_M_moveEPcPKcm"), global("_ZNSs7_M_moveEPcPKcm")}},
      {"_Znwm", SHT_DYNSYM, {global("tc_new"), global("_Znwm")}},  // tcmalloc
      {"_ZN3std4time7Instant14duration_since17he06da7db3473bd12E",
       SHT_DYNSYM,
       {global("_ZN3std4time7Instant25saturating_duration_since17h6685d60bedc0a708E"),
        global("_ZN3std4time7Instant14duration_since17he06da7db3473bd12E")}},
  };
}

// Checks the name in each order of the list.
void check_selected_names(std::vector<AliasCase> cases) {
  for (AliasCase& one : cases) BOOST_TEST_CONTEXT(one.name)
  for (std::size_t i = 0; i < one.aliases.size(); ++i) {
    BOOST_TEST(selected_name(one.list, one.aliases) == one.name);
    std::rotate(one.aliases.begin(), one.aliases.begin() + 1, one.aliases.end());
  }
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

BOOST_AUTO_TEST_CASE(selects_the_name_in_the_source_code) {
  check_selected_names(glibc_aliases());
  check_selected_names(other_aliases());
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
  // the relocation number of write; the common code that all pushes jump to; and pushes of numbers
  // that the list does not have.
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
  code_bytes.resize(64, '\x90');
  code_bytes += "\x68" + bytes_of(std::uint32_t{2});
  code_bytes.resize(80, '\x90');
  code_bytes += "\x68" + bytes_of(UINT32_MAX);
  code_bytes.resize(96, '\x90');
  sections.add_part(".plt", kPlt, 96, code_bytes);
  BOOST_TEST(names_in(sections.image(), Addresses{kPlt - 1, kPlt, kPlt + 15, kPlt + 20, kPlt + 40,
                                                  kPlt + 50, kPlt + 70, kPlt + 80, kPlt + 96}) ==
             (Names{"", "read@plt", "read@plt", "write@plt", "write@plt", "", "", "", ""}));
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
