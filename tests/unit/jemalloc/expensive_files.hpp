// Maps synthetic programs into this process that look like jemalloc and are expensive to examine.

#pragma once

#include <boost/test/unit_test.hpp>

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "ctprof/files.hpp"
#include "plugins/jemalloc-ptrace/finder/capture_budget.hpp"
#include "plugins/jemalloc-ptrace/finder/finder.hpp"
#include "tests/unit/support/files.hpp"

namespace ctprof::jemalloc::costly {

using ctprof::sdk::Fd;

inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kMiB = 1 << 20;

#if defined(__aarch64__)
inline constexpr std::uint16_t kMachine = EM_AARCH64;
#else
inline constexpr std::uint16_t kMachine = EM_X86_64;
#endif

template <class T>
void put(std::string& bytes, std::size_t at, const T& item) {
  if (bytes.size() < at + sizeof item) bytes.resize(at + sizeof item);
  std::memcpy(bytes.data() + at, &item, sizeof item);
}

inline Elf64_Ehdr header() {
  Elf64_Ehdr elf_header{};
  std::memcpy(elf_header.e_ident, ELFMAG, SELFMAG);
  elf_header.e_ident[EI_CLASS] = ELFCLASS64;
  elf_header.e_ident[EI_DATA] = ELFDATA2LSB;
  elf_header.e_type = ET_EXEC;
  elf_header.e_machine = kMachine;
  elf_header.e_phentsize = sizeof(Elf64_Phdr);
  elf_header.e_shentsize = sizeof(Elf64_Shdr);
  return elf_header;
}

// Returns a program that contains jemalloc but no information about its counters, so that its debug
// link is followed.
inline std::string image_with_debug_link(const std::string& link) {
  std::string bytes;
  Elf64_Ehdr elf_header = header();
  elf_header.e_phoff = sizeof elf_header;
  elf_header.e_phnum = 2;
  elf_header.e_shoff = 2 * kPage;
  elf_header.e_shnum = 3;
  elf_header.e_shstrndx = 2;
  put(bytes, 0, elf_header);
  put(bytes, sizeof elf_header,
      Elf64_Phdr{PT_LOAD, PF_R | PF_X, 0, 0x400000, 0x400000, 3 * kPage, 3 * kPage, kPage});
  put(bytes, sizeof elf_header + sizeof(Elf64_Phdr),
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
  put(bytes, elf_header.e_shoff + sizeof section, section);
  section.sh_name = 16, section.sh_type = SHT_STRTAB, section.sh_offset = kPage + 512,
  section.sh_size = names.size();
  put(bytes, elf_header.e_shoff + 2 * sizeof section, section);
  bytes.resize(3 * kPage);
  return bytes;
}

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Maps the file as code, so that a finder examines it for this process.
inline void* map_code(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY));
  void* const at = ::mmap(nullptr, kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0);
  BOOST_REQUIRE(at != MAP_FAILED);
  return at;
}

// Maps programs that all name one sparse file of this size as their debug information. Returns what
// a finder reports for this process.
inline FindStatus find_in(int programs, std::uint64_t linked_bytes,
                          FileBudget::NowFunction now = FileBudget::Clock::now) {
  const TemporaryDirectory directory;
  std::string elf_header;
  put(elf_header, 0, header());
  write_file(directory / "sparse", elf_header);
  BOOST_REQUIRE(::truncate((directory / "sparse").c_str(), static_cast<off_t>(linked_bytes)) == 0);
  std::vector<void*> mapped;
  for (int i = 0; i < programs; ++i) {
    write_file(directory / std::to_string(i), image_with_debug_link("sparse"));
    mapped.push_back(map_code(directory / std::to_string(i)));
  }
  ctprof_host host{};
  host.size = sizeof host;
  host.proc = "/proc";
  const Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY));
  host.proc_fd = proc.get();
  Finder finder{ctprof::sdk::Host(host), nullptr, now};
  const FindResult found = finder.find(static_cast<std::uint64_t>(::getpid()));
  for (void* at : mapped) ::munmap(at, kPage);
  return found.status;
}

}  // namespace ctprof::jemalloc::costly
