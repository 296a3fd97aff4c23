// Tests the unwind tables that a recorder requests, and the frames that it finds with them.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "core/capture/recorder_notes.hpp"
#include "core/capture/unwind_tables.hpp"
#include "tests/unit/capture/own_files.hpp"
#include "tests/unit/capture/own_mounts.hpp"
#include "tests/unit/capture/test_recorder.hpp"
#include "tests/unit/stacks/elf_builder.hpp"
#include "tests/unit/support/files.hpp"

namespace unwind_tables_test {
using namespace ctprof;
using namespace ctprof::test_recorder;
using hand_made::kTimeout;
using tests::ElfBuilder;
using tests::kX86InitialRules;

namespace {

// The results do not depend on the speed of this machine.
const UnwindTables::Options kPatient{.close_timeout = kTimeout, .open_timeout = kTimeout};

// Returns a request for the table of the file at `path`, which must outlive the request.
ctprof_table_request request_for(const std::string& path) {
  struct stat status {};
  BOOST_REQUIRE(::stat(path.c_str(), &status) == 0);
  ctprof_table_request request{};
  request.size = sizeof request;
  request.request = 5;
  request.tgid = static_cast<std::uint64_t>(::getpid());
  request.device_major = major(status.st_dev);
  request.device_minor = minor(status.st_dev);
  request.inode = status.st_ino;
  request.file_size = static_cast<std::uint64_t>(status.st_size);
  request.changed_s = status.st_ctim.tv_sec;
  request.changed_ns = static_cast<std::uint32_t>(status.st_ctim.tv_nsec);
  request.path = {path.data(), path.size()};
  return request;
}

std::string own_program() { return std::filesystem::canonical("/proc/self/exe"); }

// Requests the table of the test program and waits for the answer. `change` modifies the request.
ctprof_unwind_table request_own_table(
    const sdk::Records& to, const std::function<void(ctprof_table_request&)>& change = {}) {
  const std::string path = own_program();
  ctprof_table_request request = request_for(path);
  if (change) change(request);
  to.want_table(request);
  ctprof_unwind_table table{};
  while (!to.next_table(table)) std::this_thread::yield();
  return table;
}

// Returns the file of the requested table, without a recorder; nullopt if there is no table.
std::optional<TableFile> table_file_of(const ctprof_table_request& request) {
  const sdk::Fd proc(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  UnwindTables tables(proc.get(), kPatient);
  tables.request(&request);
  ctprof_unwind_table table{};
  table.size = sizeof table;
  while (tables.next(&table) == 0) std::this_thread::yield();
  return table.number == 1 ? std::optional(tables.files().front()) : std::nullopt;
}

bool mount_in_memory(const std::string& directory) {
  return ::mount("ramfs", directory.c_str(), "ramfs", 0, nullptr) == 0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(unwind_tables_test)

BOOST_FIXTURE_TEST_CASE(a_recorder_receives_tables_and_returns_frames, RecorderFixture) {
  bool makes_tables = false;
  TestRecorder::on_start = [&](const sdk::Window& window) { makes_tables = window.makes_tables(); };
  const RecorderResult recorded = drain_once([&](const sdk::Records& to) {
    const ctprof_unwind_table table = request_own_table(to);
    BOOST_REQUIRE(table.number == 1u);
    BOOST_TEST(table.request == 5u);
    BOOST_TEST(table.pages_count > 0u);
    BOOST_TEST(table.rows_count > 100u);
    BOOST_TEST(table.rules_count > 2u);
    const std::uint64_t frames[] = {std::uint64_t{1} << CTPROF_FRAME_TABLE_SHIFT | 0x1000,
                                    CTPROF_FRAME_ADDRESS | 0x7000};
    sdk::Record record(1, 1, 1);
    record.set_user_frames(frames);
    to.put(record);
  });
  BOOST_TEST(makes_tables);
  BOOST_TEST(recorded.failure == "");
  BOOST_TEST(recorded.walked_stacks == 1u);
  BOOST_TEST(contains(describe_recorder(recorded, {}), "100.0% unwound in the kernel"));
  BOOST_REQUIRE(recorded.tables.size() == 1u);
  BOOST_TEST(recorded.tables[0].mapping.path ==
             std::filesystem::canonical("/proc/self/exe").string());
}

// Recording with frame pointers needs no tables.
BOOST_FIXTURE_TEST_CASE(no_tables_are_made_for_frame_pointers, RecorderFixture) {
  bool makes_tables = true;
  TestRecorder::on_start = [&](const sdk::Window& window) { makes_tables = window.makes_tables(); };
  BOOST_TEST(bool(records({.user_kind = CTPROF_USER_ADDRESSES})->start()));
  BOOST_TEST(!makes_tables);
}

BOOST_FIXTURE_TEST_CASE(a_replaced_file_has_no_table, RecorderFixture) {
  const auto number_for = [this](std::function<void(ctprof_table_request&)> change) {
    std::uint32_t number = 99;
    drain_once([&](const sdk::Records& to) { number = request_own_table(to, change).number; });
    return number;
  };
  BOOST_TEST(number_for([](auto&) {}) == 1u);
  BOOST_TEST(number_for([](auto& request) { ++request.changed_s; }) == 0u);
  BOOST_TEST(number_for([](auto& request) { request.changed_ns ^= 1; }) == 0u);
  BOOST_TEST(number_for([](auto& request) { ++request.file_size; }) == 0u);
  BOOST_TEST(number_for([](auto& request) { ++request.inode; }) == 0u);
  BOOST_TEST(number_for([](auto& request) { request.path = {nullptr, 7}; }) == 0u);
}

// Requests the table of the test program twice.
std::uint64_t count_refused_of_two(std::size_t most_tables, std::uint64_t most_steps) {
  const sdk::Fd proc(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  UnwindTables::Options options = kPatient;
  options.max_tables = most_tables;
  options.max_steps = most_steps;
  UnwindTables tables(proc.get(), options);
  const std::string path = own_program();
  const ctprof_table_request request = request_for(path);
  for (int i = 0; i < 2; ++i) {
    tables.request(&request);
    ctprof_unwind_table table{};
    table.size = sizeof table;
    while (tables.next(&table) == 0) std::this_thread::yield();
  }
  BOOST_TEST(tables.files().size() + tables.count_refused() == 2u);
  return tables.count_refused();
}

BOOST_AUTO_TEST_CASE(counts_requests_beyond_the_total_limits) {
  BOOST_TEST(count_refused_of_two(2, UnwindTables::kMaxSteps) == 0u);
  BOOST_TEST(count_refused_of_two(1, UnwindTables::kMaxSteps) == 1u);
  BOOST_TEST(count_refused_of_two(2, 1) == 2u);
}

BOOST_FIXTURE_TEST_CASE(shows_requests_beyond_the_limits_to_the_user, RecorderFixture) {
  const RecorderResult recorded =
      drain_once([&](const sdk::Records& to) { request_own_table(to); });
  BOOST_TEST(recorded.refused_tables == 0u);
  RecorderResult refused(1 << 20);
  refused.source = "small";
  refused.refused_tables = 2;
  BOOST_TEST(describe_refused_tables(refused) ==
             "small: 2 requests for unwind tables exceeded the limits of the recorder: stacks "
             "through the files of these tables are copied; restart the recorder");
}

// Its functions are not sorted by address.
BOOST_AUTO_TEST_CASE(lists_files_whose_rules_contradict_each_other) {
  const TemporaryDirectory scratch;
  const std::string path = scratch / "program";
  ElfBuilder elf;
  elf.add_common_entry(kX86InitialRules);
  for (const std::uint64_t start : {0x4000, 0x6000, 0x5000}) elf.add_function(start, 64, "");
  hand_made::write_file(path, elf.image());
  const ctprof_table_request request = request_for(path);
  const sdk::Fd proc(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  UnwindTables tables(proc.get(), kPatient);
  for (int i = 0; i < 2; ++i) tables.request(&request);
  ctprof_unwind_table table{};
  table.size = sizeof table;
  for (int answers = 0; answers < 2;) answers += tables.next(&table);
  BOOST_TEST(table.number == 0u);
  BOOST_TEST(tables.list_unpackable_files() == std::vector{path}, boost::test_tools::per_element());
  RecorderResult recorded(1 << 20);
  recorded.source = "small";
  recorded.unpackable_files = tables.list_unpackable_files();
  BOOST_TEST(describe_unpackable_files(recorded) ==
             "small: stacks through '" + path +
                 "' are copied: the file has too many unwind rules for a table, or rules that "
                 "contradict each other");
}

// Files on ramfs, like those of file servers, are copied before they are read.
BOOST_AUTO_TEST_CASE(a_copied_file_has_a_table, *own_mounts::needs_root()) {
  const TemporaryDirectory scratch;
  own_mounts::expect_on_mount([&] { return mount_in_memory(scratch / ""); },
                              [&] {
                                const std::string path = scratch / "program";
                                std::filesystem::copy_file(own_program(), path);
                                return table_file_of(request_for(path)).has_value();
                              });
}

// Finds the first mapping of the program of the calling process.
Mapping mapping_of_program(const std::string& path) {
  sdk::TextFile maps;
  const auto text = maps.read_records(AT_FDCWD, "/proc/self/maps");
  for (const Mapping& mapping : parse_code_mappings(text.value))
    if (mapping.path == path) return mapping;
  return {};
}

// Maps the program on the overlay, and requests the table of the file that the kernel reads.
bool has_table_of_overlay_file(const TemporaryDirectory& scratch) {
  const std::string path = scratch / "merged/program";
  const sdk::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0) == MAP_FAILED)
    return false;
  const Mapping mapping = mapping_of_program(path);
  const std::string layer = scratch / "lower/program";
  ctprof_table_request request = request_for(layer);
  request.start = mapping.start;
  request.length = mapping.end - mapping.start;
  request.path = {};
  const auto file = table_file_of(request);
  const FileId layer_id = hand_made::id_of(layer);
  const bool is_listed_in_maps = mapping.file == layer_id;  // before Linux 6.8
  ++request.changed_s;
  return file && file->mapping.file == mapping.file && file->mapping.path == mapping.path &&
         file->layer == (is_listed_in_maps ? FileId{} : layer_id) && !table_file_of(request);
}

BOOST_AUTO_TEST_CASE(a_file_on_an_overlay_has_a_table, *own_mounts::needs_root()) {
  const TemporaryDirectory scratch;
  own_mounts::make_layer_directories(scratch);
  std::filesystem::copy_file(own_program(), scratch / "lower/program");
  own_mounts::expect_on_mount([&] { return own_mounts::mount_overlay(scratch); },
                              [&] { return has_table_of_overlay_file(scratch); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace unwind_tables_test
