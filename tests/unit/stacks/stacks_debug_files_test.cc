// Tests that the debug information of a stripped file is found by build id and by link, and that no
// other file is accepted.

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/text.hpp"
#include "core/stacks/debug_files.hpp"
#include "core/stacks/demangle.hpp"
#include "core/stacks/naming.hpp"
#include "core/stacks/symbols.hpp"
#include "tests/unit/stacks/stacks_forms.hpp"
#include "tests/unit/support/bytes_read.hpp"

namespace ctprof::tests::stacks_debug_files_test {
namespace {

namespace fs = std::filesystem;

Module module_of(const Opened& file, const fs::path& path) {
  return {Module::Kind::File, path, file.file.build_id(), 0, file.file.code_shift()};
}

// A temporary directory.
class Room {
 public:
  Room() {
    std::string name = "/tmp/stacks_debug_files.XXXXXX";
    BOOST_REQUIRE(::mkdtemp(name.data()));
    path_ = name;
  }
  ~Room() { fs::remove_all(path_); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  fs::path operator/(const fs::path& name) const { return path_ / name; }
  fs::path copy(const std::string& name) const {
    fs::copy_file(form(name), path_ / name);
    return path_ / name;
  }

 private:
  fs::path path_;
};

bool finds(DebugFiles& files, const fs::path& path) {
  const Opened own(path);
  const ElfFile* found = files.stripped_from(module_of(own, path), &own.file);
  return found && is_unstripped(*found);
}

fs::path place_of(const std::string& build_id) {
  const std::string id = hex(build_id);
  return fs::path(".build-id") / id.substr(0, 2) / (id.substr(2) + ".debug");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stacks_debug_files_test, *boost::unit_test::precondition(has_forms))

BOOST_AUTO_TEST_CASE(finds_debug_files_by_build_id) {
  DebugFiles nowhere({}), somewhere({"/nowhere", form("debug")});
  BOOST_TEST(!finds(nowhere, form("found")));
  BOOST_TEST(finds(somewhere, form("found")));
}

BOOST_AUTO_TEST_CASE(refuses_a_file_with_another_build_id) {
  const Room room;
  const Opened own(form("found"));
  const fs::path place = room / place_of(own.file.build_id());
  fs::create_directories(place.parent_path());
  fs::copy_file("/proc/self/exe", place);
  DebugFiles files({room / ""});
  BOOST_TEST(!finds(files, form("found")));
}

BOOST_AUTO_TEST_CASE(finds_debug_files_by_link) {
  for (const std::string name : {"linked", "unidentified"}) {
    const Room room;
    const fs::path path = room.copy(name), debug = room.copy(name + ".debug");
    DebugFiles files({room / "debug"});
    BOOST_TEST(finds(files, path), name);
    fs::create_directory(room / ".debug");
    fs::rename(debug, room / ".debug" / debug.filename());
    BOOST_TEST(finds(files, path), name);
    const fs::path below = room / "debug" / path.parent_path().relative_path();
    fs::create_directories(below);
    fs::rename(room / ".debug" / debug.filename(), below / debug.filename());
    BOOST_TEST(finds(files, path), name);
    fs::remove_all(below);
    BOOST_TEST(!finds(files, path), name);
  }
}

BOOST_AUTO_TEST_CASE(refuses_a_wrong_checksum) {
  const Room room;
  const fs::path path = room.copy("unidentified"), debug = room.copy("unidentified.debug");
  DebugFiles files({});
  BOOST_TEST(finds(files, path));
  fs::resize_file(debug, fs::file_size(debug) + 1);
  BOOST_TEST(!finds(files, path));
}

// The checksum of a file of 1 GiB is not computed.
BOOST_AUTO_TEST_CASE(does_not_read_very_large_files) {
  const Room room;
  DebugFiles files({});
  for (const std::string name : {"linked", "unidentified"}) {
    const fs::path path = room.copy(name), debug = room.copy(name + ".debug");
    fs::resize_file(debug, 1ULL << 30);
    const std::uint64_t before = bytes_read();
    for (int i = 0; i < 20; ++i) BOOST_TEST(finds(files, path) == (name == "linked"));
    BOOST_TEST(bytes_read() - before < 64u << 20);
  }
}

BOOST_AUTO_TEST_CASE(limits_the_work_on_checksums) {
  const Room room;
  const fs::path path = room.copy("unidentified"), debug = room.copy("unidentified.debug");
  fs::rename(debug, room / "good");
  DebugFiles files({}), others({});
  for (int i = 0; i < 4; ++i) {
    fs::copy_file(room / "good", debug);
    BOOST_TEST(finds(others, path));
    fs::resize_file(debug, 64 << 20);
    BOOST_TEST(!finds(files, path));
    fs::remove(debug);
  }
  fs::rename(room / "good", debug);
  BOOST_TEST(!finds(files, path));
  BOOST_TEST(finds(others, path));
}

BOOST_AUTO_TEST_CASE(opens_no_debug_files_with_file_capabilities) {
  const Room room;
  const fs::path linked = room.copy("linked");
  room.copy("linked.debug");
  DebugFiles files({form("debug")}, true);
  BOOST_TEST(!finds(files, form("found")));
  BOOST_TEST(!finds(files, linked));
}

// Opening a pipe would wait for its writer.
BOOST_AUTO_TEST_CASE(opens_only_regular_files) {
  const Room room;
  const fs::path path = room.copy("linked");
  BOOST_REQUIRE(::mkfifo((room / "linked.debug").c_str(), 0600) == 0);
  fs::create_directories(room / ".debug" / "linked.debug");
  DebugFiles files({});
  BOOST_TEST(!finds(files, path));
}

BOOST_AUTO_TEST_CASE(finds_the_file_of_a_module) {
  const Room room;
  const Opened own(form("found"));
  const fs::path moved = room.copy("found");
  DebugFiles files({form("whole")}), nowhere({});
  const ElfFile* by_path = nowhere.file_of(module_of(own, moved));
  BOOST_TEST_REQUIRE(by_path);
  BOOST_TEST(!is_unstripped(*by_path));
  fs::remove(moved);
  fs::copy_file("/proc/self/exe", moved);
  BOOST_TEST(!nowhere.file_of(module_of(own, moved)));
  const ElfFile* by_id = files.file_of(module_of(own, moved));
  BOOST_TEST_REQUIRE(by_id);
  BOOST_TEST(is_unstripped(*by_id));
  Module anonymous = module_of(own, form("found"));
  anonymous.build_id.clear();
  BOOST_TEST(!files.file_of(anonymous));
}

// The machine has the debug information, but not the program.
BOOST_AUTO_TEST_CASE(names_functions_of_a_missing_file) {
  const Opened own(form("found"));
  BOOST_TEST(own.file.code_shift() != 0u);
  StackTable table;
  const std::uint32_t module = table.add_module(module_of(own, "/nowhere/named"));
  const Opened whole(named());
  std::vector<Frame> frames;
  for (std::uint64_t offset = 0; offset < 0x2000; offset += 16) frames.push_back({offset, module});
  const auto stack = table.stack(table.add_stack(frames, Ending::Root));
  DebugFiles files({form("debug")});
  name_frames(table, sources_here(files, table), {.time = std::chrono::hours(24)});
  std::size_t count = 0;
  for (const std::uint32_t frame : stack) {
    const auto address = whole.file.code_address(table.frames()[frame].offset);
    if (!address) continue;
    const std::string name = names_in_file(whole.file, std::vector{*address})[0];
    BOOST_TEST(table.name(frame) == demangled(name));
    count += !name.empty();
  }
  BOOST_TEST(count > 10u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace ctprof::tests::stacks_debug_files_test
