// Tests reading ELF files whose headers contradict each other, and budgets.

#include <boost/test/unit_test.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/elf/elf_file.hpp"
#include "core/elf/elf_image.hpp"
#include "core/elf/package_index.hpp"
#include "ctprof/files.hpp"

namespace elf_file_test {
using namespace ctprof;

namespace {

constexpr std::uint64_t kAddress = 0x400000, kDynamicAt = 512;

template <class T>
void put(std::string& bytes, std::size_t at, const T& item) {
  if (bytes.size() < at + sizeof item) bytes.resize(at + sizeof item);
  std::memcpy(bytes.data() + at, &item, sizeof item);
}

Elf64_Ehdr make_header(std::uint16_t type) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = type;
  header.e_machine = EM_X86_64;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  return header;
}

// A loaded segment of 1024 bytes, and a dynamic section in it. The header of the dynamic section
// states another offset than its address.
std::string make_shared_object(const std::vector<Elf64_Dyn>& dynamic) {
  std::string bytes(1024, '\0');
  put(bytes, 0, make_header(ET_DYN));
  put(bytes, sizeof(Elf64_Ehdr), Elf64_Phdr{PT_LOAD, PF_R, 0, kAddress, kAddress, 1024, 1024, 1});
  put(bytes, sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
      Elf64_Phdr{PT_DYNAMIC, PF_R, 64, kAddress + kDynamicAt, 0, dynamic.size() * sizeof(Elf64_Dyn),
                 0, 8});
  for (std::size_t i = 0; i < dynamic.size(); ++i)
    put(bytes, kDynamicAt + i * sizeof(Elf64_Dyn), dynamic[i]);
  return bytes;
}

sdk::Fd write_file(const std::string& bytes) {
  sdk::Fd fd(::memfd_create("elf", MFD_CLOEXEC));
  BOOST_REQUIRE(::write(fd.get(), bytes.data(), bytes.size()) ==
                static_cast<ssize_t>(bytes.size()));
  return fd;
}

int clock_calls = 0;
FileBudget::Clock::time_point count_clock_calls() {
  return FileBudget::Clock::time_point(std::chrono::hours(1000 * ++clock_calls));
}

BOOST_AUTO_TEST_SUITE(elf_file_test)

BOOST_AUTO_TEST_CASE(finds_bytes_only_inside_one_segment) {
  const std::string bytes = make_shared_object({});
  const ElfFile file(bytes);
  BOOST_TEST(file.find_file_offset(kAddress + 1000, 24).value() == 1000u);
  BOOST_TEST(!file.find_file_offset(kAddress + 1000, 25));
  BOOST_TEST(!file.find_file_offset(kAddress + 1000, UINT64_MAX));
  BOOST_TEST(!file.find_file_offset(kAddress - 1));
}

BOOST_AUTO_TEST_CASE(reads_the_dynamic_section_at_its_address) {
  const std::string bytes =
      make_shared_object({{DT_DEBUG, {7}}, {DT_NULL, {}}, {DT_FLAGS_1, {DF_1_PIE}}});
  const ElfFile file(bytes);
  BOOST_TEST(file.dynamic_entries().size() == 2u);
  BOOST_TEST(file.find_dynamic_value(DT_DEBUG).value() == 7u);
  BOOST_TEST(!file.find_dynamic_value(DT_FLAGS_1));  // after the end
}

BOOST_AUTO_TEST_CASE(distinguishes_programs_from_libraries) {
  const auto is_program = [](const std::vector<Elf64_Dyn>& dynamic) {
    const std::string bytes = make_shared_object(dynamic);
    return ElfFile(bytes).is_program();
  };
  BOOST_TEST(!is_program({{DT_NULL, {}}}));
  BOOST_TEST(is_program({{DT_FLAGS_1, {DF_1_PIE}}, {DT_NULL, {}}}));
  BOOST_TEST(is_program({{DT_DEBUG, {0}}, {DT_NULL, {}}}));
  std::string bytes = make_shared_object({});
  put(bytes, 0, make_header(ET_EXEC));
  BOOST_TEST(ElfFile(bytes).is_program());
  put(bytes, 0, make_header(ET_REL));
  BOOST_TEST(!ElfFile(bytes).is_program());
}

BOOST_AUTO_TEST_CASE(kept_bytes_equal_those_of_the_file) {
  std::string bytes = make_shared_object({});
  bytes += std::string(5000, 'x');
  const sdk::Fd fd = write_file(bytes);
  ElfFile file(fd.get());
  file.keep_start(4096);
  for (const std::size_t at : {0u, 4000u, 4090u, 4096u, 6000u})
    BOOST_TEST((file.read_bytes(at, 20, 20) == bytes.substr(at, 20)), at);
  // Changes of the file are visible only beyond the kept bytes.
  BOOST_REQUIRE(::pwrite(fd.get(), "AB", 2, 1000) == 2);
  BOOST_REQUIRE(::pwrite(fd.get(), "AB", 2, 5000) == 2);
  BOOST_TEST((file.read_bytes(1000, 2, 2) == std::string(2, '\0')));
  BOOST_TEST(file.read_bytes(5000, 2, 2) == "AB");
}

BOOST_AUTO_TEST_CASE(reads_fail_when_the_budget_is_spent) {
  const sdk::Fd fd = write_file(make_shared_object({}));
  const auto budget = std::make_shared<FileBudget>(FileAllowance{300});
  const ElfFile file(fd.get(), budget);  // reads its headers: 176 bytes
  BOOST_TEST(file.read_bytes(0, 100, 100).size() == 100u);
  BOOST_TEST(file.read_bytes(0, 100, 100).empty());
  BOOST_TEST(file.read_bytes(0, 1, 1).empty());
  BOOST_TEST(budget->is_spent());
}

BOOST_AUTO_TEST_CASE(a_budget_without_time_limit_reads_no_clock) {
  FileBudget unlimited({100}, count_clock_calls);
  BOOST_TEST(unlimited.charge(60));
  BOOST_TEST(clock_calls == 1);  // the start
  FileBudget limited({100, std::chrono::milliseconds(5)}, count_clock_calls);
  BOOST_TEST(!limited.charge(60));
}

BOOST_AUTO_TEST_CASE(reads_sections_of_built_files) {
  const std::string image = build_elf_image(EM_X86_64, {{".a", "first"}, {".b", "second"}});
  const ElfFile file(image);
  BOOST_REQUIRE(file.section(".b"));
  const Elf64_Shdr b = *file.section(".b");
  BOOST_TEST(file.read_bytes(b.sh_offset, b.sh_size, 100) == "second");
  BOOST_REQUIRE(file.named_sections().size() == 4u);
  BOOST_TEST(file.named_sections()[1].name == ".a");
}

// Columns: .debug_info and .debug_abbrev of one unit in one of two slots.
BOOST_AUTO_TEST_CASE(reads_the_index_of_a_package) {
  std::string index;
  for (const std::uint32_t word : {5u, 2u, 1u, 2u}) put(index, index.size(), word);
  for (const std::uint64_t id : {std::uint64_t{0}, std::uint64_t{77}}) put(index, index.size(), id);
  for (const std::uint32_t word : {0u, 1u, 1u, 3u, 10u, 20u, 30u, 40u})
    put(index, index.size(), word);
  const PackageIndex package(index);
  BOOST_TEST(package.row_count() == 1u);
  BOOST_TEST(package.find_row(77) == 1u);
  BOOST_TEST(package.find_row(78) == 0u);
  const auto part = package.find_section_part(1, PackageSection::Abbrev);
  BOOST_REQUIRE(part);
  BOOST_TEST(part->offset == 20u);
  BOOST_TEST(part->size == 40u);
  BOOST_TEST(!package.find_section_part(1, PackageSection::Line));
  index.resize(12);
  BOOST_TEST(PackageIndex(index).row_count() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace elf_file_test
