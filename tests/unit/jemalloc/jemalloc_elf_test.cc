// Tests files that may contain jemalloc: programs, libraries and damaged files, and the place of
// thread-local storage.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "ctprof/files.hpp"
#include "plugins/jemalloc-ptrace/finder/allocator_file.hpp"
#include "plugins/jemalloc-ptrace/finder/elf_symbols.hpp"
#include "plugins/jemalloc-ptrace/finder/mappings.hpp"
#include "plugins/jemalloc-ptrace/finder/target_file.hpp"
#include "tests/unit/jemalloc/stopped_clock.hpp"
#include "tests/unit/support/files.hpp"

namespace jemalloc_elf_test {
// ThreadSanitizer adds its own malloc and free to this program, which are found before ours.
#ifdef __has_feature
#define CTPROF_HAS_FEATURE(feature) __has_feature(feature)
#else
#define CTPROF_HAS_FEATURE(feature) 0
#endif
constexpr bool kThreadSanitizer = CTPROF_HAS_FEATURE(thread_sanitizer);

using namespace ctprof;
using namespace ctprof::jemalloc;
using ctprof::sdk::Fd;

extern "C" {
// This program has the symbols of a program with jemalloc under a separate prefix, so that the test
// can search for them.
__thread std::uint64_t unit_tsd_tls[64] = {1};
void* unit_malloc(std::size_t);
void unit_free(void*);
int unit_mallctl();
void* unit_malloc(std::size_t size) { return reinterpret_cast<void*>(size); }
void unit_free(void*) { unit_tsd_tls[1] = 1; }
int unit_mallctl() { return static_cast<int>(unit_tsd_tls[0]); }
}

namespace {

Fd file_of(const void* bytes, std::size_t size) {
  Fd fd(::memfd_create("elf", MFD_CLOEXEC));
  if (::write(fd.get(), bytes, size) != static_cast<ssize_t>(size))
    BOOST_FAIL("no memory for a copy");
  return fd;
}

std::string own_bytes() {
  const Fd self(::open("/proc/self/exe", O_RDONLY));
  std::string bytes(1 << 24, '\0');
  bytes.resize(static_cast<std::size_t>(::read(self.get(), bytes.data(), bytes.size())));
  return bytes;
}

Elf64_Phdr tls(std::uint64_t address, std::uint64_t size, std::uint64_t alignment) {
  Elf64_Phdr header{};
  header.p_vaddr = address;
  header.p_memsz = size;
  header.p_align = alignment;
  return header;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(jemalloc_elf_test)

BOOST_AUTO_TEST_CASE(finds_the_symbols_of_this_program) {
  BOOST_TEST(unit_mallctl() == 1);
  const Fd self(::open("/proc/self/exe", O_RDONLY));
  const ElfFile file(self.get(), without_time_limit());
  BOOST_REQUIRE((file.kind() == ElfKind::Elf64));
  BOOST_TEST(file.is_program());
  const Symbols symbols = read_static_symbols(file);
  BOOST_TEST(symbols.has_mallctl);
  BOOST_REQUIRE(symbols.tsd_offset.has_value());
  // The variable is at the address that symbol and formula give.
  const auto start = compute_program_tls_start(file.machine(), *file.segment(PT_TLS));
  const auto pointer = reinterpret_cast<std::int64_t>(__builtin_thread_pointer());
  BOOST_TEST(pointer + start.value_or(0) + static_cast<std::int64_t>(*symbols.tsd_offset) ==
             reinterpret_cast<std::int64_t>(&unit_tsd_tls[0]));
  // A sanitizer adds pairs of its own.
  BOOST_TEST(std::any_of(symbols.allocators.begin(), symbols.allocators.end(),
                         [](const auto& functions) { return functions.prefix == "unit_"; }));
}

// The file contains jemalloc, but nothing describes its fields. This case has its own result.
BOOST_AUTO_TEST_CASE(reports_jemalloc_without_field_information,
                     *boost::unit_test::enable_if<!kThreadSanitizer>()) {
  const Fd self(::open("/proc/self/exe", O_RDONLY));
  BOOST_TEST((analyze_file(ElfFile(self.get(), without_time_limit()), {}).status ==
              FindStatus::DwarfParseFailure));
}

BOOST_AUTO_TEST_CASE(uses_debug_information_last,
                     *boost::unit_test::enable_if<!kThreadSanitizer>()) {
  const Fd self(::open("/proc/self/exe", O_RDONLY));
  const ElfFile file(self.get(), without_time_limit());
  const auto result = analyze_file(file, [](const ElfFile&) {
    return DebugFacts{{16, 32}, std::nullopt};
  });
  BOOST_REQUIRE((result.status == FindStatus::Found));
  BOOST_TEST(result.layout.counters.deallocated - result.layout.counters.allocated == 16);
  const auto outside = analyze_file(file, [](const ElfFile&) {
    return DebugFacts{{16, 1 << 20}, std::nullopt};
  });
  BOOST_TEST((outside.status == FindStatus::DwarfParseFailure));
}

// A file that is truncated at any place gives another result or none, and never a crash.
BOOST_AUTO_TEST_CASE(handles_truncated_files) {
  const std::string bytes = own_bytes();
  for (std::size_t size = 0; size < bytes.size(); size += size < 4096 ? 61 : bytes.size() / 40) {
    const Fd part = file_of(bytes.data(), size);
    analyze_file(ElfFile(part.get(), without_time_limit()), {});
  }
}

BOOST_AUTO_TEST_CASE(rejects_other_files) {
  std::string bytes = own_bytes();
  const auto kind = [&](std::size_t at, char value) {
    std::string changed = bytes;
    changed[at] = value;
    const Fd fd = file_of(changed.data(), changed.size());
    return analyze_file(ElfFile(fd.get(), without_time_limit()), {}).status;
  };
  BOOST_TEST((kind(EI_CLASS, ELFCLASS32) == FindStatus::ArchMismatch));
  BOOST_TEST((kind(EI_DATA, ELFDATA2MSB) == FindStatus::ArchMismatch));
  BOOST_TEST((kind(0, 'x') == FindStatus::NotJemalloc));
  const Fd null(::open("/dev/null", O_RDONLY));
  BOOST_TEST((analyze_file(ElfFile(null.get(), without_time_limit()), {}).status ==
              FindStatus::NotJemalloc));
  BOOST_TEST(
      (analyze_file(ElfFile(-1, without_time_limit()), {}).status == FindStatus::NotJemalloc));
}

BOOST_AUTO_TEST_CASE(a_library_without_jemalloc) {
  const Fd libc(::open("/proc/self/root/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY));
  if (!libc) {
    BOOST_TEST_MESSAGE("skipped: no libc.so.6 at its usual place");
    return;
  }
  BOOST_TEST(!ElfFile(libc.get(), without_time_limit()).is_program());
  BOOST_TEST((analyze_file(ElfFile(libc.get(), without_time_limit()), {}).status ==
              FindStatus::NotJemalloc));
}

// Only regular files are opened, and none outside of the root.
BOOST_AUTO_TEST_CASE(opens_only_regular_files_below_the_root) {
  const TemporaryDirectory root;
  const auto path = [&](const char* name) { return root / name; };
  BOOST_REQUIRE(::mkfifo(path("pipe").c_str(), 0600) == 0);
  BOOST_REQUIRE(::symlink("/etc/passwd", path("absolute").c_str()) == 0);
  BOOST_REQUIRE(::symlink("../../../../../../etc/passwd", path("upwards").c_str()) == 0);
  BOOST_REQUIRE(::symlink("/file", path("inside").c_str()) == 0);
  Fd(::open(path("file").c_str(), O_WRONLY | O_CREAT, 0600));
  const Fd directory(::open(root.path().c_str(), O_PATH | O_DIRECTORY));
  for (const char* name : {"pipe", "absolute", "upwards", "missing", "."})
    BOOST_TEST(!open_in_root(directory.get(), name).fd, name << " was opened");
  BOOST_TEST(static_cast<bool>(open_in_root(directory.get(), "inside").fd));
}

// All threads get the same answer.
BOOST_AUTO_TEST_CASE(answers_concurrent_requests_equally,
                     *boost::unit_test::enable_if<!kThreadSanitizer>()) {
  ctprof_host host{};
  host.size = sizeof host;
  host.proc = "/proc";
  const Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY));
  host.proc_fd = proc.get();
  for (int round = 0; round < 20; ++round) {
    Finder finder{ctprof::sdk::Host(host), nullptr, stopped_clock};
    std::atomic<int> right = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        right += finder.find(static_cast<std::uint64_t>(::getpid())).status ==
                 FindStatus::DwarfParseFailure;
      });
    for (std::thread& thread : threads) thread.join();
    BOOST_TEST(right == 8);
  }
}

// A child that shares our files is not examined again. Our own process is not dismissed.
BOOST_AUTO_TEST_CASE(knows_a_process_of_examined_files_without_jemalloc) {
  ctprof_host host{};
  host.size = sizeof host;
  host.proc = "/proc";
  const Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY));
  host.proc_fd = proc.get();
  Finder finder{ctprof::sdk::Host(host), nullptr, stopped_clock};
  int out[2];
  BOOST_REQUIRE(::pipe2(out, O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(out[1], 1);
    ::execl("/bin/sh", "sh", "-c", "echo; exec cat /dev/zero", nullptr);
    ::_exit(127);
  }
  char byte = 0;
  BOOST_REQUIRE(::read(out[0], &byte, 1) == 1);
  BOOST_REQUIRE(::read(out[0], &byte, 1) == 1);  // the output of cat shows that it runs
  const auto maps_of = [&](pid_t pid) {
    return Fd(::openat(proc.get(), (std::to_string(pid) + "/maps").c_str(), O_RDONLY));
  };
  const Fd child_maps = maps_of(child), own_maps = maps_of(::getpid());
  BOOST_TEST(!finder.is_known_without_jemalloc(child_maps.get()));
  BOOST_TEST((finder.find(static_cast<std::uint64_t>(child)).status == FindStatus::NotJemalloc));
  // The comparison of mappings needs Linux 6.11.
  const bool is_supported = ctprof::jemalloc::check_memory_exists(child_maps.get()) == 0;
  BOOST_TEST(finder.is_known_without_jemalloc(child_maps.get()) == is_supported);
  finder.find(static_cast<std::uint64_t>(::getpid()));
  BOOST_TEST(!finder.is_known_without_jemalloc(own_maps.get()));
  BOOST_TEST(!finder.is_known_without_jemalloc(-1));
  ::close(out[0]);
  ::close(out[1]);
  ::waitpid(child, nullptr, 0);
  BOOST_TEST(!finder.is_known_without_jemalloc(child_maps.get()));
}

// x86_64 places the segment below the thread pointer, aarch64 two words above it. Both align it
// like the addresses in the file.
BOOST_AUTO_TEST_CASE(computes_the_place_of_the_tls_segment) {
  const auto x86 = [](const Elf64_Phdr& header) {
    return compute_program_tls_start(EM_X86_64, header).value_or(0);
  };
  const auto arm = [](const Elf64_Phdr& header) {
    return compute_program_tls_start(EM_AARCH64, header).value_or(0);
  };
  BOOST_TEST(x86(tls(0xc4560, 2632, 8)) == -2632);
  BOOST_TEST(x86(tls(0x40, 100, 64)) == -128);
  BOOST_TEST(x86(tls(0x1010, 48, 64)) == -48);  // starts 16 above a multiple of 64, ends at one
  BOOST_TEST(arm(tls(0x1000, 100, 8)) == 16);
  BOOST_TEST(arm(tls(0x1000, 100, 64)) == 64);
  BOOST_TEST(arm(tls(0x1010, 100, 64)) == 16);
  BOOST_TEST(!compute_program_tls_start(EM_RISCV, tls(0, 0, 1)).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace jemalloc_elf_test
