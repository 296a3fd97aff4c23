// Tests reading the output of JIT compilers within limits: perf maps and jitdumps.

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/clock.hpp"
#include "core/stacks/debug_files.hpp"
#include "core/stacks/debuginfod.hpp"
#include "core/stacks/jit_maps.hpp"
#include "tests/unit/stacks/elf_builder.hpp"
#include "tests/unit/support/files.hpp"

namespace ctprof::tests::stacks_jit_maps_test {
namespace {

namespace fs = std::filesystem;

std::string header() {
  return bytes_of(std::uint32_t{0x4a695444}) + bytes_of(std::uint32_t{1}) +
         bytes_of(std::uint32_t{40}) + bytes_of(std::uint32_t{62}) + std::string(24, '\0');
}

std::string entry(std::uint32_t kind, const std::string& body) {
  const auto size = static_cast<std::uint32_t>(16 + body.size());
  return bytes_of(kind) + bytes_of(size) + bytes_of(std::uint64_t{1}) + body;
}

std::string load_entry(std::uint64_t start, std::uint64_t size, std::uint64_t index,
                       const std::string& name) {
  return entry(0, std::string(8, '\0') + bytes_of(start) + bytes_of(start) + bytes_of(size) +
                      bytes_of(index) + name + std::string(1, '\0') + std::string(size, '\x90'));
}

std::string move_entry(std::uint64_t start, std::uint64_t size, std::uint64_t index) {
  return entry(1, std::string(8, '\0') + bytes_of(start) + bytes_of(std::uint64_t{0x1000}) +
                      bytes_of(start) + bytes_of(size) + bytes_of(index));
}

JitMap read_dump(const std::string& bytes, std::size_t most = JitMap::kMaxBytes) {
  return read_jit_dump(ElfBuilder::memory_file(bytes).get(), most);
}

JitMap read_map(const std::string& text, std::size_t most) {
  return read_perf_map(ElfBuilder::memory_file(text).get(), most);
}

std::string text_of(const sdk::Fd& fd) { return fd ? read_perf_map(fd.get()).text : "none"; }

}  // namespace

BOOST_AUTO_TEST_SUITE(stacks_jit_maps_test)

BOOST_AUTO_TEST_CASE(reads_loaded_and_moved_functions) {
  const std::string other = entry(2, std::string(16, '\0'));  // line information, which is skipped
  const JitMap map = read_dump(header() + load_entry(0x1000, 32, 7, "add") + other +
                               load_entry(0x2000, 16, 8, "two\nlines") + move_entry(0x3000, 32, 7));
  BOOST_TEST(map.text == "1000 20 add\n2000 10 two lines\n3000 20 add\n");
  BOOST_TEST(!map.is_truncated);
}

BOOST_AUTO_TEST_CASE(reads_dumps_up_to_the_first_damaged_entry) {
  const std::string whole = header() + load_entry(0x1000, 32, 7, "add");
  BOOST_TEST(read_dump(whole + load_entry(0x2000, 16, 8, "cut").substr(0, 70)).text ==
             "1000 20 add\n");
  BOOST_TEST(read_dump(whole + entry(0, "")).text == "1000 20 add\n");
  BOOST_TEST(read_dump(whole + bytes_of(std::uint64_t{0}) + std::string(64, '\0')).text ==
             "1000 20 add\n");
  BOOST_TEST(read_dump(whole + move_entry(0x3000, 32, 99)).text == "1000 20 add\n");
  for (const std::string& bytes : {std::string(), std::string("ELF"), whole.substr(1)})
    BOOST_TEST(read_dump(bytes).text.empty());
}

BOOST_AUTO_TEST_CASE(keeps_the_newest_entries) {
  const JitMap dump =
      read_dump(header() + load_entry(0x1000, 1, 1, "old") + load_entry(0x2000, 1, 2, "new"), 20);
  BOOST_TEST(dump.text == "2000 1 new\n");
  BOOST_TEST(dump.is_truncated);
  const JitMap map = read_map("1000 1 old\n2000 1 new\n", 15);
  BOOST_TEST(map.text == "2000 1 new\n");
  BOOST_TEST(map.is_truncated);
  BOOST_TEST(read_map("1000 1 of one line", 5).text.empty());
}

BOOST_AUTO_TEST_CASE(finds_the_process_id_in_the_name_of_a_dump) {
  BOOST_TEST(parse_jit_dump_process("/tmp/x/jit-1234.dump").value_or(0) == 1234u);
  for (const char* path : {"jit-.dump", "/jit-1a.dump", "/jit-1.dumps", "/a-jit-1.dump", "",
                           "jit-dump", "jit.dump", "jit-1.dump/x"})
    BOOST_TEST(!parse_jit_dump_process(path));
}

BOOST_AUTO_TEST_CASE(finds_maps_and_dumps_in_specified_directories) {
  const TemporaryDirectory scratch;
  std::ofstream(scratch / "perf-7.map") << "1000 10 mapped\n";
  std::ofstream(scratch / "jit-8.dump") << header() + load_entry(0x1000, 32, 7, "dumped");
  DebugFiles files({"/nowhere", scratch / ""});
  BOOST_TEST(files.read_jit_map(7).text == "1000 10 mapped\n");
  BOOST_TEST(files.read_jit_map(8).text == "1000 20 dumped\n");
  BOOST_TEST(files.read_jit_map(9).text.empty());
  fs::remove(scratch / "perf-7.map");
  BOOST_REQUIRE(::mkfifo((scratch / "perf-7.map").c_str(), 0600) == 0);
  BOOST_TEST(files.read_jit_map(7).text.empty());
  // With file capabilities, no file that the user names is opened.
  DebugFiles with_file_capabilities({scratch / ""}, true);
  BOOST_TEST(with_file_capabilities.read_jit_map(8).text.empty());
}

BOOST_AUTO_TEST_CASE(opens_only_safe_maps_of_exited_processes) {
  const TemporaryDirectory scratch;
  const std::string path = scratch / "perf-7.map", directory = scratch.path();
  std::ofstream(path) << "1000 10 made\n";
  const std::uint64_t later = realtime_ns() + 60 * kNsPerSecond;
  const auto open = [&](std::uint64_t started_at) {
    return text_of(open_perf_map_of_exited(7, started_at, directory));
  };
  BOOST_TEST(open(later) == "1000 10 made\n");
  BOOST_TEST(open(kNsPerSecond) == "none");  // it belongs to a later process
  BOOST_REQUIRE(::link(path.c_str(), (scratch / "other").c_str()) == 0);
  BOOST_TEST(open(later) == "none");
  fs::remove(path);
  BOOST_REQUIRE(::symlink((scratch / "other").c_str(), path.c_str()) == 0);
  BOOST_TEST(open(later) == "none");
  fs::remove(path);
  BOOST_REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  BOOST_TEST(open(later) == "none");
}

// The directory layout of the debuginfod cache.
BOOST_AUTO_TEST_CASE(finds_files_in_the_cache_of_debuginfod) {
  const TemporaryDirectory scratch;
  const fs::path cache_directory = scratch / "deadbeef";
  fs::create_directory(cache_directory);
  std::ofstream(cache_directory / "executable") << ElfBuilder().image();
  const Module module{Module::Kind::File, "/nowhere/made", "\xde\xad\xbe\xef", 0, 0};
  DebugFiles files({scratch / ""});
  BOOST_TEST(files.find_module_file(module));
  BOOST_TEST(!files.find_debug_file(module, nullptr));
  fs::rename(cache_directory / "executable", cache_directory / "debuginfo");
  BOOST_TEST(!files.find_module_file(module));
  BOOST_TEST(files.find_debug_file(module, nullptr));
  Module other = module;
  other.build_id = "\xde\xad\xbe\xee";
  fs::rename(cache_directory, scratch / "deadbeee");
  BOOST_TEST(!files.find_debug_file(other, nullptr));  // it is another file
}

BOOST_AUTO_TEST_CASE(fetches_files_that_no_directory_contains) {
  const Module module{Module::Kind::File, "/nowhere/made", "\xde\xad\xbe\xef", 0, 0};
  DebugFiles files({});
  std::string requests;
  std::string sent_bytes = ElfBuilder().image();
  files.set_fetch([&](const std::string& build_id, bool is_stripped) {
    requests += is_stripped ? "d" : "p";
    return build_id == module.build_id ? ElfBuilder::memory_file(sent_bytes) : sdk::Fd();
  });
  BOOST_TEST(files.find_module_file(module));
  BOOST_TEST(files.find_debug_file(module, nullptr));
  BOOST_TEST(requests == "pd");
  sent_bytes = "another file";
  BOOST_TEST(!files.find_module_file(module));
}

BOOST_AUTO_TEST_CASE(uses_servers_only_if_some_are_configured) {
  ::unsetenv("DEBUGINFOD_URLS");
  const auto none = DebuginfodClient::open({});
  BOOST_REQUIRE(!none);
  BOOST_TEST(none.error().text.find("$DEBUGINFOD_URLS") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace ctprof::tests::stacks_jit_maps_test
