// Files that are made to cost: what they may take of memory and time, alone and many at once.

#include <boost/test/unit_test.hpp>

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "ctprof/files.hpp"
#include "plugins/jemalloc-ptrace/finder/debug_info.hpp"
#include "plugins/jemalloc-ptrace/finder/debug_sections.hpp"
#include "plugins/jemalloc-ptrace/finder/finder.hpp"

using namespace ctprof::jemalloc;
using ctprof::sdk::Fd;

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kMiB = 1 << 20;
// A sanitizer keeps back what was freed, and puts room around everything.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kMostMemory = 256 * kMiB;
#elif defined(__has_feature)
constexpr std::size_t kMostMemory = (__has_feature(address_sanitizer) ? 256 : 64) * kMiB;
#else
constexpr std::size_t kMostMemory = 64 * kMiB;
#endif

#if defined(__aarch64__)
constexpr std::uint16_t kMachine = EM_AARCH64;
#else
constexpr std::uint16_t kMachine = EM_X86_64;
#endif

template <class T>
void put(std::string& bytes, std::size_t at, const T& item) {
  if (bytes.size() < at + sizeof item) bytes.resize(at + sizeof item);
  std::memcpy(bytes.data() + at, &item, sizeof item);
}

Elf64_Ehdr header() {
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_type = ET_EXEC;
  head.e_machine = kMachine;
  head.e_phentsize = sizeof(Elf64_Phdr);
  head.e_shentsize = sizeof(Elf64_Shdr);
  return head;
}

// Sections whose names begin one behind the other in a table of 1 MiB that no zero ends.
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

// A program that is jemalloc for sure, of which nothing tells the counters, so that its debug link
// is followed.
std::string suspect_with_link(const std::string& link) {
  std::string bytes;
  Elf64_Ehdr head = header();
  head.e_phoff = sizeof head;
  head.e_phnum = 2;
  head.e_shoff = 2 * kPage;
  head.e_shnum = 3;
  head.e_shstrndx = 2;
  put(bytes, 0, head);
  put(bytes, sizeof head,
      Elf64_Phdr{PT_LOAD, PF_R | PF_X, 0, 0x400000, 0x400000, 3 * kPage, 3 * kPage, kPage});
  put(bytes, sizeof head + sizeof(Elf64_Phdr),
      Elf64_Phdr{PT_TLS, PF_R, 512, 0x400200, 0x400200, 384, 2632, 8});
  for (std::size_t pair = 0; pair < 24; ++pair) put(bytes, 512 + 16 * pair, std::uint64_t{1});
  const std::string names("\0.gnu_debuglink\0.shstrtab", 26);
  const std::string content = link + std::string(4 - link.size() % 4, '\0') + "sum.";
  bytes.resize(kPage);
  bytes += content;
  bytes.resize(kPage + 512);
  bytes += names;
  Elf64_Shdr section{};
  section.sh_name = 1, section.sh_type = SHT_PROGBITS, section.sh_offset = kPage,
  section.sh_size = content.size();
  put(bytes, head.e_shoff + sizeof section, section);
  section.sh_name = 16, section.sh_type = SHT_STRTAB, section.sh_offset = kPage + 512,
  section.sh_size = names.size();
  put(bytes, head.e_shoff + 2 * sizeof section, section);
  bytes.resize(3 * kPage);
  return bytes;
}

std::size_t peak() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

std::size_t memory_for(std::uint16_t sections) {
  const std::string bytes = many_sections(sections);
  const Fd fd(::memfd_create("sections", MFD_CLOEXEC));
  BOOST_REQUIRE(::write(fd.get(), bytes.data(), bytes.size()) ==
                static_cast<ssize_t>(bytes.size()));
  const std::size_t before = peak();
  const ElfFile file(fd.get());
  BOOST_TEST(file.sections().size() == sections);
  debug_sections(file);
  debug_hints(file);
  return peak() - before;
}

class Room {
 public:
  Room() { BOOST_REQUIRE(::mkdtemp(path_) != nullptr); }
  ~Room() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return std::string(path_) + '/' + name; }

 private:
  char path_[32] = "/tmp/jemalloc_budget.XXXXXX";
};

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// As code of ours, so that a finder that is asked for us looks at it.
void* map_code(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY));
  void* const at = ::mmap(nullptr, kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0);
  BOOST_REQUIRE(at != MAP_FAILED);
  return at;
}

// How long it takes to look at programs that all name one sparse file of this size as their debug
// information.
std::chrono::duration<double> time_for(int programs, std::uint64_t linked_bytes) {
  const Room room;
  std::string head;
  put(head, 0, header());
  write_file(room.file("sparse"), head);
  BOOST_REQUIRE(::truncate(room.file("sparse").c_str(), static_cast<off_t>(linked_bytes)) == 0);
  std::vector<void*> mapped;
  for (int i = 0; i < programs; ++i) {
    write_file(room.file(std::to_string(i)), suspect_with_link("sparse"));
    mapped.push_back(map_code(room.file(std::to_string(i))));
  }
  ctprof_host host{};
  host.size = sizeof host;
  host.proc = "/proc";
  const Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY));
  host.proc_fd = proc.get();
  const auto start = std::chrono::steady_clock::now();
  Finder finder{ctprof::sdk::Host(host)};
  const Found found = finder.find(static_cast<std::uint64_t>(::getpid()));
  const auto elapsed = std::chrono::steady_clock::now() - start;
  BOOST_TEST((found.attach == Attach::DwarfParseFailure || found.attach == Attach::TooCostly));
  for (void* at : mapped) ::munmap(at, kPage);
  return elapsed;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(jemalloc_budget_test)

BOOST_AUTO_TEST_CASE(names_without_an_end) {
  BOOST_REQUIRE(memory_for(1'000) < kMostMemory);
  BOOST_TEST(memory_for(65'535) < kMostMemory);
}

BOOST_AUTO_TEST_CASE(links_to_huge_sparse_files) {
  BOOST_TEST(time_for(40, 1024 * kMiB).count() < 10);
}

// Each is small enough to be looked at.
BOOST_AUTO_TEST_CASE(links_to_many_files) { BOOST_TEST(time_for(60, 255 * kMiB).count() < 10); }

BOOST_AUTO_TEST_CASE(a_budget_is_spent_once) {
  FileBudget budget({100, std::chrono::seconds(60)});
  BOOST_TEST(budget.charge(60));
  BOOST_TEST(!budget.charge(60));
  BOOST_TEST(!budget.charge(1));
  BOOST_TEST(budget.spent());
  FileBudget late({100, std::chrono::milliseconds(0)});
  ::usleep(1000);
  BOOST_TEST(!late.charge(1));
}

// What is spent shows in the verdict, and a file that is dismissed by its headers costs next to
// nothing.
BOOST_AUTO_TEST_CASE(the_file_is_cut_where_the_budget_ends) {
  const Fd fd(::memfd_create("cut", MFD_CLOEXEC));
  const std::string bytes = suspect_with_link("none");
  BOOST_REQUIRE(::write(fd.get(), bytes.data(), bytes.size()) ==
                static_cast<ssize_t>(bytes.size()));
  const ElfFile whole(fd.get());
  BOOST_TEST((judge(whole, {}).attach == Attach::DwarfParseFailure));
  BOOST_TEST(!whole.budget()->spent());
  const ElfFile cut(fd.get(),
                    std::make_shared<FileBudget>(Allowance{300, std::chrono::seconds(60)}));
  judge(cut, {});
  BOOST_TEST(cut.budget()->spent());
}

BOOST_AUTO_TEST_SUITE_END()
