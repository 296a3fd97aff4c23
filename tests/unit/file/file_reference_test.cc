// Tests files of the reference, written by hand in both of its newer spellings and loaded only with
// the vocabulary.

#include <boost/test/unit_test.hpp>

#include "core/file/read/load_text.hpp"
#include "core/file/write/document.hpp"
#include "core/snapshot/file_extras.hpp"
#include "tests/unit/support/column_lines.hpp"

namespace ctprof::tests::file_reference_test {
namespace {

// A leader in the newest spelling, with all keys in the order of the reference.
constexpr std::string_view kLeader =
    R"({"tid":100,"tgid":100,"pcomm":"nginx","comm":"nginx","cgroup":"/a.slice","start_time_clock_ticks":500,"policy":"SCHED_OTHER",)"
    R"("nice":-5,"cpu_affinity":[0,1,3,70],"processor":1,"state":"S","ext_enabled":true,"run_time_ns":1000,"wait_time_ns":2000,)"
    R"("timeslices":3,"voluntary_csw":4,"nonvoluntary_csw":5,"nr_wakeups":6,"nr_wakeups_local":7,"nr_wakeups_remote":8,)"
    R"("nr_wakeups_sync":9,"nr_wakeups_migrate":10,"nr_wakeups_affine":11,"nr_wakeups_affine_attempts":12,"nr_migrations":13,)"
    R"("nr_forced_migrations":14,"nr_failed_migrations_affine":15,"nr_failed_migrations_running":16,"nr_failed_migrations_hot":17,)"
    R"("wait_sum":18,"wait_count":19,"wait_max":20,"voluntary_sleep_ns":21,"sleep_max":22,"block_sum":23,"block_max":24,)"
    R"("iowait_sum":25,"iowait_count":26,"exec_max":27,"slice_max":28,"allocated_bytes":29,"deallocated_bytes":30,"minflt":31,)"
    R"("majflt":32,"utime_clock_ticks":33,"stime_clock_ticks":34,"priority":15,"rt_priority":0,"core_forceidle_sum":0,)"
    R"("fair_slice_ns":3000000,"nr_threads":2,"smaps_rollup_kib":{"Pss":50,"Rss":100},"rchar":35,"wchar":36,"syscr":37,"syscw":38,)"
    R"("read_bytes":39,"write_bytes":40,"cancelled_write_bytes":41,"cpu_delay_count":42,"cpu_delay_total_ns":43,)"
    R"("cpu_delay_max_ns":44,"cpu_delay_min_ns":45,"blkio_delay_count":46,"blkio_delay_total_ns":47,"blkio_delay_max_ns":48,)"
    R"("blkio_delay_min_ns":49,"swapin_delay_count":0,"swapin_delay_total_ns":0,"swapin_delay_max_ns":0,"swapin_delay_min_ns":0,)"
    R"("freepages_delay_count":0,"freepages_delay_total_ns":0,"freepages_delay_max_ns":0,"freepages_delay_min_ns":0,)"
    R"("thrashing_delay_count":0,"thrashing_delay_total_ns":0,"thrashing_delay_max_ns":0,"thrashing_delay_min_ns":0,)"
    R"("compact_delay_count":0,"compact_delay_total_ns":0,"compact_delay_max_ns":0,"compact_delay_min_ns":0,)"
    R"("wpcopy_delay_count":0,"wpcopy_delay_total_ns":0,"wpcopy_delay_max_ns":0,"wpcopy_delay_min_ns":0,"irq_delay_count":0,)"
    R"("irq_delay_total_ns":0,"irq_delay_max_ns":0,"irq_delay_min_ns":0,"hiwater_rss_bytes":51,"hiwater_vm_bytes":52,)"
    R"("taskstats_measured":true,"cpu_delay_active":true,"delay_block_active":false,"xacct_active":true,"jemalloc_measured":false})";

constexpr std::string_view kCgroups =
    R"({"/a.slice":{"cpu":{"usage_usec":5,"nr_throttled":0,"throttled_usec":0,"max_quota_us":null,"max_period_us":100000,"weight":100,)"
    R"("weight_nice":-3},"memory":{"current":4096,"max":null,"high":8192,"low":null,"min":18446744073709551615,"stat":{"anon":7},)"
    R"("events":{}},"pids":{"current":null,"max":10},"psi":{"cpu":{"some":{"avg10":1234,"avg60":0,"avg300":65535,"total_usec":9},)"
    R"("full":{"avg10":0,"avg60":0,"avg300":0,"total_usec":0}}}}})";

constexpr std::string_view kPsi =
    R"({"cpu":{"some":{"avg10":12,"avg60":0,"avg300":0,"total_usec":77}}})";

std::string file_of(const std::string& threads) {
  return R"({"captured_at_unix_ns":1790000000000000000,"host":{"cpu_model":"Model","total_memory_kib":1},"threads":[)" +
         threads + R"(],"cgroup_stats":)" + std::string(kCgroups) +
         R"(,"probe_summary":null,"parse_summary":{"tids_walked":1},)" +
         R"("taskstats_summary":null,"psi":)" + std::string(kPsi) + R"(,"sched_ext":null})";
}

Snapshot load(const std::string& text) {
  auto snapshot = load_text(text, "test", shipped_vocabulary());
  BOOST_REQUIRE_MESSAGE(snapshot.has_value(), snapshot.error().text);
  return std::move(*snapshot);
}

const Column& find_column(const Snapshot& snapshot, std::string_view name) {
  for (const Table& table : snapshot.tables)
    if (const Column* found = table.find(name)) return *found;
  BOOST_REQUIRE_MESSAGE(false, "no column " << name);
  std::abort();
}

std::uint64_t read_number(const Snapshot& snapshot, std::string_view name, std::size_t row = 0) {
  BOOST_TEST_CONTEXT(name) BOOST_REQUIRE(find_column(snapshot, name).has_value(row));
  return find_column(snapshot, name).u64()[row];
}

BOOST_AUTO_TEST_SUITE(file_reference_test)

BOOST_AUTO_TEST_CASE(reads_the_newest_spelling) {
  const Snapshot snapshot = load(file_of(std::string(kLeader)));
  BOOST_TEST(snapshot.is_foreign);
  BOOST_TEST(snapshot.meta.start.wall_unix_ns == 1790000000000000000u);
  BOOST_TEST(snapshot.threads().rows == 1u);
  BOOST_TEST(read_number(snapshot, "tid") == 100u);
  BOOST_TEST(find_column(snapshot, "nice").i64()[0] == -5);
  BOOST_TEST(find_column(snapshot, "ext_enabled").bools()[0] == 1);
  BOOST_TEST(snapshot.pools->texts[find_column(snapshot, "pcomm").ids()[0]] == "nginx");
  const auto cpus = snapshot.pools->words[find_column(snapshot, "cpu_affinity").ids()[0]];
  BOOST_TEST(cpus.size() == 2u);
  BOOST_TEST(cpus[0] == 0xbu);
  BOOST_TEST(cpus[1] == 0x40u);
  BOOST_TEST(read_number(snapshot, "run_time_ns") == 1000u);
  BOOST_TEST(read_number(snapshot, "hiwater_vm_bytes") == 52u);
  BOOST_TEST(snapshot.extras->unknown_keys[0].empty(), "every key of the layout is known");
  BOOST_TEST(snapshot.extras->unknown_keys[2].empty());
  BOOST_TEST(snapshot.objects.at("host") == R"({"cpu_model":"Model","total_memory_kib":1})");
  BOOST_TEST(snapshot.objects.at("parse_summary") == R"({"tids_walked":1})");
  BOOST_TEST(!snapshot.objects.contains("probe_summary"));
}

BOOST_AUTO_TEST_CASE(false_marks_become_gaps) {
  const Snapshot snapshot = load(file_of(std::string(kLeader)));
  BOOST_TEST(find_column(snapshot, "cpu_delay_count").has_value(0));
  BOOST_TEST((find_column(snapshot, "blkio_delay_count").gap(0) == Gap::NotInFile),
             "delay_block_active is false");
  BOOST_TEST((find_column(snapshot, "allocated_bytes").gap(0) == Gap::NotInFile),
             "jemalloc_measured is false");
  const Snapshot unmeasured = load(file_of(replace_once(
      std::string(kLeader), "\"taskstats_measured\":true", "\"taskstats_measured\":false")));
  BOOST_TEST((find_column(unmeasured, "cpu_delay_count").gap(0) == Gap::NotInFile),
             "the mark above is false");
}

BOOST_AUTO_TEST_CASE(reads_the_older_spelling_without_marks) {
  std::string leader = replace_once(std::string(kLeader), "smaps_rollup_kib", "smaps_rollup_kb");
  leader = leader.substr(0, leader.find(",\"taskstats_measured\"")) + "}";
  const Snapshot snapshot = load(file_of(leader));
  BOOST_TEST(read_number(snapshot, "blkio_delay_count") == 46u,
             "a mark that is missing says nothing");
  BOOST_TEST(read_number(snapshot, "allocated_bytes") == 29u);
  const auto map = snapshot.pools->maps[find_column(snapshot, "process.smaps_rollup").ids()[0]];
  BOOST_TEST(map.size() == 2u);
  BOOST_TEST(map[1].value == 100u);
  BOOST_TEST(snapshot.extras->unknown_keys[0].empty());
}

BOOST_AUTO_TEST_CASE(impossible_values_become_gaps) {
  std::string thread = replace_once(std::string(kLeader), "\"comm\":\"nginx\"", "\"comm\":\"\"");
  thread = replace_once(thread, "\"state\":\"S\"", "\"state\":\"~\"");
  thread = replace_once(thread, "[0,1,3,70]", "[]");
  thread = replace_once(thread, R"({"Pss":50,"Rss":100})", "{}");
  const Snapshot snapshot = load(file_of(thread));
  for (const char* name :
       {"comm", "state", "cpu_affinity", "process.smaps_rollup", "host.sched_ext.state"})
    BOOST_TEST_CONTEXT(name) BOOST_TEST((find_column(snapshot, name).gap(0) == Gap::NotInFile));
  BOOST_TEST(read_number(snapshot, "core_forceidle_sum") == 0u, "a zero is a zero");
  BOOST_TEST(read_number(snapshot, "rt_priority") == 0u);
}

BOOST_AUTO_TEST_CASE(reads_cgroups_and_host) {
  const Snapshot snapshot = load(file_of(std::string(kLeader)));
  BOOST_TEST(snapshot.pools->texts[find_column(snapshot, "cgroup.path").ids()[0]] == "/a.slice");
  BOOST_TEST(read_number(snapshot, "cgroup.cpu.usage_usec") == 5u);
  BOOST_TEST(find_column(snapshot, "cgroup.cpu.weight_nice").i64()[0] == -3);
  BOOST_TEST((find_column(snapshot, "cgroup.memory.max").gap(0) == Gap::NotInFile),
             "null is either, so unknown");
  BOOST_TEST(read_number(snapshot, "cgroup.memory.high") == 8192u);
  BOOST_TEST(read_number(snapshot, "cgroup.memory.min") == 18446744073709551615u);
  BOOST_TEST(read_number(snapshot, "cgroup.psi.cpu.some.avg300") == 65535u);
  BOOST_TEST((find_column(snapshot, "cgroup.psi.irq.full.total_usec").gap(0) == Gap::NotInFile));
  BOOST_TEST(read_number(snapshot, "host.psi.cpu.some.total_usec") == 77u);
  BOOST_TEST((find_column(snapshot, "host.sched_ext.nr_rejected").gap(0) == Gap::NotInFile));
}

BOOST_AUTO_TEST_CASE(sorts_rows_and_rebuilds_processes) {
  const std::string leader(kLeader);
  const std::string thread =
      replace_once(replace_once(leader, "\"tid\":100", "\"tid\":107,\"newer\":[1]"),
                   R"({"Pss":50,"Rss":100})", "{}");
  const std::string orphan = replace_once(replace_once(leader, "\"tid\":100", "\"tid\":60"),
                                          "\"tgid\":100", "\"tgid\":50");
  const Snapshot snapshot = load(file_of(thread + "," + leader + "," + orphan));
  BOOST_TEST(read_number(snapshot, "tid", 0) == 60u);
  BOOST_TEST(read_number(snapshot, "tid", 1) == 100u);
  BOOST_TEST(read_number(snapshot, "tid", 2) == 107u);
  const auto& kept = snapshot.extras->unknown_keys[0].at("newer");
  BOOST_REQUIRE(kept.size() == 1u);
  BOOST_TEST(kept[0].first == 2u);
  BOOST_TEST(kept[0].second == "[1]");
  BOOST_TEST(snapshot.table(Entity::Process).rows == 2u);
  BOOST_TEST(read_number(snapshot, "process.tgid", 0) == 50u,
             "a process without its leader is one all the same");
  BOOST_TEST(snapshot.pools->maps[find_column(snapshot, "process.smaps_rollup").ids()[1]].size() ==
             2u);
}

BOOST_AUTO_TEST_CASE(accepts_an_empty_file) {
  const Snapshot snapshot = load("{}");
  BOOST_TEST(snapshot.threads().rows == 0u);
  BOOST_TEST(snapshot.table(Entity::Host).rows == 1u);
}

BOOST_AUTO_TEST_CASE(keeps_all_values_in_our_rows_layout) {
  Snapshot foreign = load(file_of(std::string(kLeader)));
  StringSink sink;
  BOOST_REQUIRE(Document(foreign, shipped_vocabulary()).write(sink).has_value());
  const Snapshot own_file = load(sink.text());
  BOOST_TEST(!own_file.is_foreign);
  BOOST_TEST(difference(foreign, own_file) == "");
}

BOOST_AUTO_TEST_CASE(keeps_all_values_in_columns) {
  const std::string leader(kLeader);
  for (const std::string& text :
       {file_of(leader), file_of(replace_once(leader, "\"tid\":100", "\"tid\":107,\"newer\":[1]")),
        file_of(replace_once(leader, "\"comm\":\"nginx\"", "\"comm\":\"\"")), std::string("{}")}) {
    const Snapshot foreign = load(text);
    const Snapshot own_file = tests::load(to_file_bytes(foreign));
    BOOST_TEST(difference(foreign, own_file) == "");
    StringSink rows, through_columns;
    BOOST_REQUIRE(Document(foreign, shipped_vocabulary()).write(rows).has_value());
    BOOST_REQUIRE(Document(own_file, shipped_vocabulary()).write(through_columns).has_value());
    BOOST_TEST((rows.text() == through_columns.text()), "as rows they differ");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::file_reference_test
