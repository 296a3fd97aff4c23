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
#include "tests/unit/stacks/stacks_variants.hpp"
#include "tests/unit/support/bytes_read.hpp"
#include "tests/unit/support/files.hpp"

namespace ctprof::tests::stacks_debug_files_test {
namespace {

namespace fs = std::filesystem;

Module module_of(const OpenedFile& file, const fs::path& path) {
  return {Module::Kind::File, path, file.file.build_id(), 0, file.file.code_address_bias()};
}

// Copies a variant of the program into the directory; returns its path.
fs::path copy_variant(const std::string& name, const TemporaryDirectory& directory) {
  fs::copy_file(variant_path(name), directory / name);
  return directory / name;
}

bool has_debug_file(DebugFiles& files, const fs::path& path) {
  const OpenedFile own(path);
  const ElfFile* found = files.find_debug_file(module_of(own, path), &own.file);
  return found && has_symtab(*found);
}

fs::path debug_path(const std::string& build_id) {
  const std::string id = to_hex(build_id);
  return fs::path(".build-id") / id.substr(0, 2) / (id.substr(2) + ".debug");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stacks_debug_files_test, *boost::unit_test::precondition(has_variants))

BOOST_AUTO_TEST_CASE(finds_debug_files_by_build_id) {
  DebugFiles without_directories({}), with_directory({"/nowhere", variant_path("debug")});
  BOOST_TEST(!has_debug_file(without_directories, variant_path("found")));
  BOOST_TEST(has_debug_file(with_directory, variant_path("found")));
}

BOOST_AUTO_TEST_CASE(refuses_a_file_with_another_build_id) {
  const TemporaryDirectory scratch;
  const OpenedFile own(variant_path("found"));
  const fs::path place = scratch / debug_path(own.file.build_id());
  fs::create_directories(place.parent_path());
  fs::copy_file("/proc/self/exe", place);
  DebugFiles files({scratch / ""});
  BOOST_TEST(!has_debug_file(files, variant_path("found")));
}

BOOST_AUTO_TEST_CASE(finds_debug_files_by_link) {
  for (const std::string name : {"linked", "unidentified"}) {
    const TemporaryDirectory scratch;
    const fs::path path = copy_variant(name, scratch),
                   debug = copy_variant(name + ".debug", scratch);
    DebugFiles files({scratch / "debug"});
    BOOST_TEST(has_debug_file(files, path), name);
    fs::create_directory(scratch / ".debug");
    fs::rename(debug, scratch / ".debug" / debug.filename());
    BOOST_TEST(has_debug_file(files, path), name);
    const fs::path below = scratch / "debug" / path.parent_path().relative_path();
    fs::create_directories(below);
    fs::rename(scratch / ".debug" / debug.filename(), below / debug.filename());
    BOOST_TEST(has_debug_file(files, path), name);
    fs::remove_all(below);
    BOOST_TEST(!has_debug_file(files, path), name);
  }
}

BOOST_AUTO_TEST_CASE(refuses_a_wrong_checksum) {
  const TemporaryDirectory scratch;
  const fs::path path = copy_variant("unidentified", scratch),
                 debug = copy_variant("unidentified.debug", scratch);
  DebugFiles files({});
  BOOST_TEST(has_debug_file(files, path));
  fs::resize_file(debug, fs::file_size(debug) + 1);
  BOOST_TEST(!has_debug_file(files, path));
}

// The checksum of a file of 1 GiB is not computed.
BOOST_AUTO_TEST_CASE(does_not_read_very_large_files) {
  const TemporaryDirectory scratch;
  DebugFiles files({});
  for (const std::string name : {"linked", "unidentified"}) {
    const fs::path path = copy_variant(name, scratch),
                   debug = copy_variant(name + ".debug", scratch);
    fs::resize_file(debug, 1ULL << 30);
    const std::uint64_t before = count_bytes_read();
    for (int i = 0; i < 20; ++i) BOOST_TEST(has_debug_file(files, path) == (name == "linked"));
    BOOST_TEST(count_bytes_read() - before < 64u << 20);
  }
}

BOOST_AUTO_TEST_CASE(limits_the_work_on_checksums) {
  const TemporaryDirectory scratch;
  const fs::path path = copy_variant("unidentified", scratch),
                 debug = copy_variant("unidentified.debug", scratch);
  fs::rename(debug, scratch / "good");
  DebugFiles files({}), others({});
  for (int i = 0; i < 4; ++i) {
    fs::copy_file(scratch / "good", debug);
    BOOST_TEST(has_debug_file(others, path));
    fs::resize_file(debug, 64 << 20);
    BOOST_TEST(!has_debug_file(files, path));
    fs::remove(debug);
  }
  fs::rename(scratch / "good", debug);
  BOOST_TEST(!has_debug_file(files, path));
  BOOST_TEST(has_debug_file(others, path));
}

BOOST_AUTO_TEST_CASE(opens_no_debug_files_with_file_capabilities) {
  const TemporaryDirectory scratch;
  const fs::path linked = copy_variant("linked", scratch);
  copy_variant("linked.debug", scratch);
  DebugFiles files({variant_path("debug")}, true);
  BOOST_TEST(!has_debug_file(files, variant_path("found")));
  BOOST_TEST(!has_debug_file(files, linked));
}

// Opening a pipe would wait for its writer.
BOOST_AUTO_TEST_CASE(opens_only_regular_files) {
  const TemporaryDirectory scratch;
  const fs::path path = copy_variant("linked", scratch);
  BOOST_REQUIRE(::mkfifo((scratch / "linked.debug").c_str(), 0600) == 0);
  fs::create_directories(scratch / ".debug/linked.debug");
  DebugFiles files({});
  BOOST_TEST(!has_debug_file(files, path));
}

BOOST_AUTO_TEST_CASE(finds_the_file_of_a_module) {
  const TemporaryDirectory scratch;
  const OpenedFile own(variant_path("found"));
  const fs::path moved = copy_variant("found", scratch);
  DebugFiles files({variant_path("whole")}), without_directories({});
  const ElfFile* by_path = without_directories.find_module_file(module_of(own, moved));
  BOOST_TEST_REQUIRE(by_path);
  BOOST_TEST(!has_symtab(*by_path));
  fs::remove(moved);
  fs::copy_file("/proc/self/exe", moved);
  BOOST_TEST(!without_directories.find_module_file(module_of(own, moved)));
  const ElfFile* by_id = files.find_module_file(module_of(own, moved));
  BOOST_TEST_REQUIRE(by_id);
  BOOST_TEST(has_symtab(*by_id));
  Module anonymous = module_of(own, variant_path("found"));
  anonymous.build_id.clear();
  BOOST_TEST(!files.find_module_file(anonymous));
}

// The machine has the debug information, but not the program.
BOOST_AUTO_TEST_CASE(names_functions_of_a_missing_file) {
  const OpenedFile own(variant_path("found"));
  BOOST_TEST(own.file.code_address_bias() != 0u);
  StackTable table;
  const std::uint32_t module = table.add_module(module_of(own, "/nowhere/named"));
  const OpenedFile whole(unstripped_path());
  std::vector<Frame> frames;
  for (std::uint64_t offset = 0; offset < 0x2000; offset += 16) frames.push_back({offset, module});
  const auto stack = table.get_stack_frames(table.add_stack(frames, WalkEnd::Root));
  DebugFiles files({variant_path("debug")});
  name_frames(table, make_local_sources(files, table), {.max_time = std::chrono::hours(24)});
  std::size_t count = 0;
  for (const std::uint32_t frame : stack) {
    const auto address = whole.file.code_address(table.frames()[frame].offset);
    if (!address) continue;
    const std::string name = find_names_in_file(whole.file, std::vector{*address})[0];
    BOOST_TEST(table.get_name(frame) == demangle(name));
    count += !name.empty();
  }
  BOOST_TEST(count > 10u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace ctprof::tests::stacks_debug_files_test
