// Tests writing files: equal bytes each time, complete replacement or none, and every key of the
// layout.

#include <boost/test/unit_test.hpp>

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "core/file/capture_file.hpp"
#include "core/file/file.hpp"
#include "core/file/write/destination.hpp"
#include "core/file/write/document.hpp"
#include "core/file/write/out_file.hpp"
#include "tests/unit/support/files.hpp"
#include "tests/unit/support/idle_host.hpp"

namespace ctprof::tests::file_write_test {
namespace {

namespace json = boost::json;

std::size_t files_in(const std::string& directory) {
  const std::filesystem::directory_iterator entries(directory);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

Snapshot idle_host(std::size_t threads) {
  HostShape shape;
  shape.threads = threads;
  return IdleHost(shape).make();
}

std::string text_of(const Snapshot& snapshot) {
  StringSink sink;
  BOOST_REQUIRE(Document(snapshot, shipped_vocabulary()).write(sink).has_value());
  return sink.text();
}

json::object object_text(const Snapshot& snapshot) {
  return json::parse(text_of(snapshot)).get_object();
}

BOOST_AUTO_TEST_SUITE(file_write_test)

BOOST_AUTO_TEST_CASE(writes_the_same_bytes_for_the_same_snapshot) {
  const TemporaryDirectory directory;
  const std::string one = directory / "one", other = directory / "other";
  const auto written = write_file(idle_host(2000), shipped_vocabulary(), one);
  BOOST_REQUIRE(written.has_value());
  BOOST_REQUIRE(
      write_file(idle_host(2000), shipped_vocabulary(), other, {.sync = false}).has_value());
  BOOST_TEST((file_text(one) == file_text(other)));
  BOOST_TEST(written->file_bytes == file_text(one).size());
  BOOST_TEST(written->json_bytes > 100 * 2000u);
  const auto loaded = load_file(one, shipped_vocabulary());
  BOOST_REQUIRE(loaded.has_value());
  BOOST_TEST(difference(*loaded, idle_host(2000)) == "");
}

BOOST_AUTO_TEST_CASE(several_workers_write_the_same_bytes) {
  const TemporaryDirectory directory;
  std::set<std::string> files;
  for (const unsigned workers : {1u, 2u, 7u}) {
    const std::string path = directory / std::to_string(workers);
    const auto written = write_file(idle_host(2000), shipped_vocabulary(), path,
                                    {.workers = workers, .sync = false});
    BOOST_REQUIRE(written.has_value());
    BOOST_TEST(written->json_bytes == text_of(idle_host(2000)).size());
    files.insert(file_text(path));
  }
  BOOST_TEST(files.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_failed_write_keeps_the_old_file) {
  const TemporaryDirectory directory;
  if (::mount("tmpfs", directory.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
    BOOST_TEST_MESSAGE("skipped: a small file system cannot be mounted here");
    return;
  }
  const std::string file = directory / "x.zst";
  std::ofstream(file) << "old";
  HostShape shape;
  shape.threads = 3000;
  shape.is_busy = true;
  const auto written = write_file(IdleHost(shape).make(), shipped_vocabulary(), file);
  BOOST_TEST(!written.has_value());
  BOOST_TEST(written.error().text == "writing '" + file + "': No space left on device");
  BOOST_TEST(file_text(file) == "old");
  BOOST_TEST(files_in(directory.path()) == 1u);
  BOOST_TEST(::umount(directory.path().c_str()) == 0);
}

BOOST_AUTO_TEST_CASE(writes_to_devices_directly) {
  const auto full = write_file(idle_host(2), shipped_vocabulary(), "/dev/full");
  BOOST_REQUIRE(!full.has_value());
  BOOST_TEST(full.error().text == "writing '/dev/full': No space left on device");
  BOOST_TEST(write_file(idle_host(2), shipped_vocabulary(), "/dev/null").has_value());
  BOOST_TEST(std::filesystem::is_character_file("/dev/null"));
}

BOOST_AUTO_TEST_CASE(reports_paths_that_cannot_be_written) {
  const TemporaryDirectory directory;
  const auto sentence = [](const std::string& path) {
    return write_file(idle_host(1), shipped_vocabulary(), path).error().text;
  };
  BOOST_TEST(sentence(directory.path()) == "writing '" + directory.path() + "': Is a directory");
  BOOST_TEST(sentence(directory / "none/x") ==
             "writing '" + directory / "none/x" + "': No such file or directory");
  BOOST_TEST(files_in(directory.path()) == 0u);
}

BOOST_AUTO_TEST_CASE(writes_through_a_link) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "real") << "old";
  std::filesystem::create_symlink("real", directory / "link");
  BOOST_REQUIRE(write_file(idle_host(1), shipped_vocabulary(), directory / "link").has_value());
  BOOST_TEST(std::filesystem::is_symlink(directory / "link"));
  BOOST_TEST(load_file(directory / "real", shipped_vocabulary()).has_value());
  BOOST_TEST(files_in(directory.path()) == 2u);
}

// Another user creates a link between the check and the writing, or later.
BOOST_AUTO_TEST_CASE(does_not_follow_a_link_created_meanwhile) {
  const TemporaryDirectory directory;
  const std::string out = directory / "out", victim = directory / "victim";
  std::ofstream(victim) << "precious";
  const auto place = check_output(out);
  BOOST_REQUIRE(place.has_value());
  std::filesystem::create_symlink("victim", out);
  const auto refused = write_file(idle_host(1), shipped_vocabulary(), *place);
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(refused.error().text ==
             "writing '" + out +
                 "': meanwhile it was replaced by something other than a regular file");
  std::filesystem::remove(out);
  auto file = OutFile::create(*place);
  BOOST_REQUIRE(file.has_value());
  std::filesystem::create_symlink("victim", out);
  BOOST_REQUIRE(file->write("new").has_value());
  BOOST_REQUIRE(file->commit(true).has_value());
  BOOST_TEST(file_text(victim) == "precious");
  BOOST_TEST(!std::filesystem::is_symlink(out));
  BOOST_TEST(file_text(out) == "new");
}

// A relative path refers to the working directory at the time of the check.
BOOST_AUTO_TEST_CASE(ignores_changes_of_the_working_directory) {
  const TemporaryDirectory directory, other_directory;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  const auto place = check_output("out");
  std::filesystem::current_path(other_directory.path());
  const auto written = write_file(idle_host(1), shipped_vocabulary(), *place);
  std::filesystem::current_path(before);
  BOOST_REQUIRE(written.has_value());
  BOOST_TEST(files_in(other_directory.path()) == 0u);
  BOOST_TEST(load_file(directory / "out", shipped_vocabulary()).has_value());
}

// The new file belongs to the user's own group, whose members could not read the old one.
BOOST_AUTO_TEST_CASE(drops_the_permissions_of_a_group_that_cannot_be_copied,
                     *boost::unit_test::precondition([](auto) { return ::geteuid() == 0; })) {
  constexpr uid_t kUser = 65534;
  constexpr gid_t kOtherGroup = 54321;
  const TemporaryDirectory directory;
  const std::string path = directory / "x.zst";
  std::ofstream(path) << "old";
  BOOST_REQUIRE(::chown(directory.path().c_str(), kUser, kUser) == 0);
  BOOST_REQUIRE(::chown(path.c_str(), kUser, kOtherGroup) == 0);
  BOOST_REQUIRE(::chmod(path.c_str(), 0664) == 0);
  BOOST_REQUIRE(::seteuid(kUser) == 0);
  const bool is_written = write_file(idle_host(1), shipped_vocabulary(), path).has_value();
  BOOST_REQUIRE(::seteuid(0) == 0);
  BOOST_TEST(is_written);
  struct stat status {};
  BOOST_REQUIRE(::stat(path.c_str(), &status) == 0);
  BOOST_TEST(status.st_gid != kOtherGroup);
  BOOST_TEST((status.st_mode & 0777) == 0604u);
}

// An empty snapshot with only the required columns contains every key.
BOOST_AUTO_TEST_CASE(writes_all_keys_of_an_empty_snapshot) {
  Snapshot bare;
  bare.threads().rows = 1;
  bare.threads().add(identity_metric(kTid), Gap::None).u64()[0] = 7;
  bare.threads().add(identity_metric(kTgid), Gap::None).u64()[0] = 7;
  bare.table(Entity::Host).rows = 1;
  bare.table(Entity::Cgroup).rows = 1;
  bare.table(Entity::Cgroup).add(identity_metric(kCgroupPath), Gap::None).ids()[0] =
      bare.pools->texts.intern("/");
  const json::object file = object_text(bare);
  for (const char* key : {"captured_at_unix_ns", "host", "threads", "cgroup_stats", "probe_summary",
                          "parse_summary", "taskstats_summary", "psi", "sched_ext"})
    BOOST_TEST(file.contains(key), key);
  BOOST_TEST(file.at("sched_ext").is_null());
  BOOST_TEST(file.at("host").is_null());
  BOOST_TEST(file.at("psi").at("irq").at("full").at("avg300") == json::value(0));
  const json::object& thread = file.at("threads").at(0).get_object();
  BOOST_TEST(thread.size() == 99u, "98 keys and the older spelling of one");
  BOOST_TEST(thread.at("tid") == json::value(7));
  BOOST_TEST(thread.at("state") == json::value("~"));
  BOOST_TEST(thread.at("policy") == json::value(""));
  BOOST_TEST(thread.at("taskstats_measured") == json::value(false));
  BOOST_TEST(thread.at("smaps_rollup_kb").get_object().empty());
  const json::object& cgroup = file.at("cgroup_stats").at("/").get_object();
  BOOST_TEST(cgroup.at("cpu").at("max_quota_us").is_null());
  BOOST_TEST(cgroup.at("cpu").at("max_period_us") == json::value(100000));
  BOOST_TEST(!cgroup.contains("ext"), "an inner object with nothing in it is left out");
}

BOOST_AUTO_TEST_CASE(a_mark_is_true_if_its_family_has_a_value) {
  Snapshot host = idle_host(3);
  for (Column& column : host.threads().columns) {
    const bool is_delay =
        column.def().mark == "cpu_delay_active" || column.def().mark == "delay_block_active";
    if (is_delay || column.def().mark == "xacct_active") column.gaps()[1] = CTPROF_DENIED;
    if (column.def().mark == "cpu_delay_active" && column.def().name != "cpu_delay_count")
      column.gaps()[2] = CTPROF_DENIED;
  }
  const json::object file = object_text(host);
  const auto mark = [&](std::size_t row, const char* name) {
    return file.at("threads").at(row).at(name).get_bool();
  };
  BOOST_TEST(mark(0, "taskstats_measured"));
  BOOST_TEST(!mark(1, "taskstats_measured"));
  BOOST_TEST(!mark(1, "cpu_delay_active"));
  BOOST_TEST(mark(2, "cpu_delay_active"), "one value is enough");
  BOOST_TEST(mark(1, "jemalloc_measured"));
}

BOOST_AUTO_TEST_CASE(distinguishes_unlimited_limits_from_missing_values) {
  Snapshot host = idle_host(1);
  Column& limit = *host.table(Entity::Cgroup).find("cgroup.memory.max");
  limit.u64()[0] = limit.u64()[2] = ~std::uint64_t{0};
  limit.gaps()[1] = CTPROF_DENIED;
  Column& floor = *host.table(Entity::Cgroup).find("cgroup.memory.min");
  floor.u64()[0] = ~std::uint64_t{0};
  const std::string text = text_of(host);
  const json::object file = json::parse(text).get_object();
  const auto path = [](int number) {
    return "/system.slice/unit-00000" + std::to_string(number) + ".service";
  };
  BOOST_TEST(file.at("cgroup_stats").at(path(0)).at("memory").at("max").is_null());
  BOOST_TEST(file.at("cgroup_stats").at(path(1)).at("memory").at("max").is_null());
  BOOST_TEST(text.find("\"min\":18446744073709551615") != text.npos);
  BOOST_TEST(text.find("{\"columns\":[\"cgroup.memory.max\"],\"runs\":[255,1,4,1,255,1,0,17]}") !=
             text.npos);
}

BOOST_AUTO_TEST_CASE(writes_names_as_valid_utf8) {
  Snapshot host = idle_host(2);
  host.threads().find(kComm)->ids()[0] =
      host.pools->texts.intern("a\xff\xe2\x82z\n\x01\"\xf0\x9f\x98\x80");
  const std::string text = text_of(host);
  BOOST_TEST(text.find("\"comm\":\"a\xef\xbf\xbd\xef\xbf\xbdz\\n\\u0001\\\"\xf0\x9f\x98\x80\"") !=
             text.npos);
  BOOST_TEST(text.find("\"comm\":[{\"hex\":\"61ffe2827a0a0122f09f9880\",\"rows\":[0,1]}]") !=
             text.npos);
}

// A number that exceeds its newtype would make the file unreadable.
BOOST_AUTO_TEST_CASE(values_that_do_not_fit_are_malformed) {
  Snapshot host = idle_host(1);
  host.threads().find("nice")->i64()[0] = std::int64_t{1} << 40;
  const std::string text = text_of(host);
  BOOST_TEST(text.find("\"nice\":0,") != text.npos);
  BOOST_TEST(text.find("{\"columns\":[\"nice\"],\"runs\":[8,1]}") != text.npos);
}

// If two metrics have one place in the file, or one place is inside the other, the first metric
// gets it and the file stays valid.
BOOST_AUTO_TEST_CASE(metrics_do_not_share_a_place) {
  Snapshot host = idle_host(1);
  for (const char* place : {"threads[].nice", "threads[].nice.inner", "threads[].smaps_rollup_kb",
                            "ctprof.x", "threads[]."}) {
    MetricDef def = *shipped_vocabulary().find("run_time_ns");
    def.name = std::string("third_") + place;
    def.file_path = place;
    host.threads().add(def, Gap::None);
  }
  const json::object file = object_text(host);
  BOOST_TEST(file.at("threads").at(0).get_object().size() == 106u);
  const auto loaded = load_file("/dev/null", shipped_vocabulary());
  BOOST_TEST(!loaded.has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::file_write_test
