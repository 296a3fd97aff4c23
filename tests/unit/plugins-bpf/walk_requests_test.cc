// Tests requests for unwind tables, and the handling of answers.

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/walk_requests.hpp"

namespace walk_requests_test {
using namespace ctprof;

namespace {

// Tables of a BPF program that only record the calls.
class RecordingTables final : public WalkTables {
 public:
  explicit RecordingTables(std::size_t most = SIZE_MAX) : most_(most) {}
  bool add(const ctprof_unwind_table& table, const walk_file& file) override {
    if (added.size() == most_) return false;
    added.push_back(file.inode);
    numbers.push_back(table.number);
    return true;
  }
  void remove_file(const walk_file& file) override { removed_files.push_back(file.inode); }

  std::vector<std::uint64_t> added, removed_files;
  std::vector<std::uint32_t> numbers;

 private:
  std::size_t most_;
};

struct ReceivedRequest {
  ctprof_table_request request;
  std::string path;
};

// A core whose answers the test sets.
class RequestCore {
 public:
  RequestCore() {
    abi_.size = sizeof abi_;
    abi_.core = this;
    abi_.want_table = [](void* core, const ctprof_table_request* request) {
      auto& self = *static_cast<RequestCore*>(core);
      self.received_requests.push_back(
          {*request,
           std::string(request->path.data ? request->path.data : "", request->path.size)});
      self.answers_.push_back({request->request, self.number});
    };
    abi_.next_table = [](void* core, ctprof_unwind_table* table) {
      auto& answers = static_cast<RequestCore*>(core)->answers_;
      if (answers.empty()) return 0;
      table->request = answers.front().first;
      table->number = answers.front().second;
      answers.pop_front();
      return 1;
    };
  }
  RequestCore(const RequestCore&) = delete;
  RequestCore& operator=(const RequestCore&) = delete;

  sdk::Records records() { return sdk::Records(abi_); }

  std::uint32_t number = 0;  // of each answer
  std::vector<ReceivedRequest> received_requests;

 private:
  ctprof_records abi_{};
  std::deque<std::pair<std::uint64_t, std::uint32_t>> answers_;
};

walk_miss make_miss(std::uint64_t inode) {
  walk_miss miss{};
  miss.file.inode = inode;
  miss.file.device = 254u << 20 | 3;
  miss.file.size = 4096;
  miss.file.ctime_s = 9;
  miss.file.ctime_ns = 8;
  miss.start = 0x1000;
  miss.end = 0x3000;
  miss.offset = 0x5000;
  return miss;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(walk_requests_test)

BOOST_AUTO_TEST_CASE(requests_tables_of_the_vdso_and_of_files_with_paths) {
  RequestCore core;
  core.number = 4;
  RecordingTables tables;
  WalkRequests requests;
  requests.add_path(254u << 20 | 3, 77, "/lib/libc.so.6");
  requests.add_miss(7, make_miss(77));
  requests.exchange(core.records(), tables);
  BOOST_REQUIRE_EQUAL(core.received_requests.size(), 2u);
  BOOST_TEST(core.received_requests[0].request.flags == CTPROF_TABLE_OF_VDSO);
  const ctprof_table_request& file = core.received_requests[1].request;
  BOOST_TEST(file.flags == 0u);
  BOOST_TEST(file.tgid == 7u);
  BOOST_TEST(file.inode == 77u);
  BOOST_TEST(file.device_major == 254u);
  BOOST_TEST(file.device_minor == 3u);
  BOOST_TEST(file.length == 0x2000u);
  BOOST_TEST(file.offset == 0x5000u);
  BOOST_TEST(file.file_size == 4096u);
  BOOST_TEST(file.changed_s == 9);
  BOOST_TEST(file.changed_ns == 8u);
  BOOST_TEST(core.received_requests[1].path == "/lib/libc.so.6");
  BOOST_TEST(tables.added == (std::vector<std::uint64_t>{0, 77}), boost::test_tools::per_element());
  BOOST_TEST(tables.numbers == (std::vector<std::uint32_t>{4, 4}),
             boost::test_tools::per_element());
  BOOST_TEST(tables.removed_files.empty());
}

// A walk may reach the vDSO before the recorder has received its table.
BOOST_AUTO_TEST_CASE(a_miss_in_the_vdso_does_not_remove_its_table) {
  RequestCore core;
  core.number = 4;
  RecordingTables tables;
  WalkRequests requests;
  requests.add_miss(7, {});
  requests.exchange(core.records(), tables);
  BOOST_TEST(core.received_requests.size() == 1u);
  BOOST_TEST(tables.added == std::vector<std::uint64_t>{0}, boost::test_tools::per_element());
  core.number = 0;  // no table for later requests
  requests.add_miss(8, {});
  requests.exchange(core.records(), tables);
  BOOST_TEST(core.received_requests.size() == 1u);
  BOOST_TEST(tables.removed_files.empty());
}

// The process may have exited before the file was opened.
BOOST_AUTO_TEST_CASE(repeats_requests_for_a_file_without_a_table) {
  RequestCore core;
  RecordingTables tables;
  WalkRequests requests;
  for (unsigned i = 0; i < 3 * WalkRequests::kMaxAttempts; ++i) {
    requests.add_miss(7, make_miss(77));
    requests.exchange(core.records(), tables);
  }
  BOOST_TEST(tables.added.empty());
  const auto removed_files = std::ranges::count(tables.removed_files, 77u);
  BOOST_TEST(removed_files == WalkRequests::kMaxAttempts - 1);
}

BOOST_AUTO_TEST_CASE(reports_files_whose_tables_exceed_the_space) {
  RequestCore core;
  core.number = 4;
  RecordingTables tables(2);  // the vDSO and one file
  WalkRequests requests;
  requests.add_miss(7, make_miss(77));
  requests.exchange(core.records(), tables);
  BOOST_TEST(requests.describe_refused_tables("on-cpu", 0) == "");
  requests.add_miss(7, make_miss(78));
  requests.exchange(core.records(), tables);
  BOOST_TEST(requests.describe_refused_tables("on-cpu", 0) ==
             "on-cpu: stacks through 1 file are copied: the space for unwind tables is full; "
             "restart the recorder");
  requests.add_miss(7, make_miss(79));
  requests.exchange(core.records(), tables);
  const std::string remark = requests.describe_refused_tables("off-cpu", 0);
  BOOST_TEST(remark.starts_with("off-cpu: stacks through 2 files are copied: "));
  BOOST_TEST(requests.describe_refused_tables("off-cpu", 0) == remark);  // the condition persists
}

BOOST_AUTO_TEST_CASE(reports_walks_through_files_that_cannot_be_listed) {
  BOOST_TEST(WalkRequests().describe_refused_tables("on-cpu", 1) ==
             "on-cpu: 1 stack was copied: the list of files with unwind tables is full (8192 "
             "files); restart the recorder");
  BOOST_TEST(WalkRequests().describe_refused_tables("off-cpu", 20) ==
             "off-cpu: 20 stacks were copied: the list of files with unwind tables is full (8192 "
             "files); restart the recorder");
}

BOOST_AUTO_TEST_CASE(joins_remarks_that_are_not_empty) {
  BOOST_TEST(join_remarks("a", "b") == "a; b");
  BOOST_TEST(join_remarks("a", "") == "a");
  BOOST_TEST(join_remarks("", "b") == "b");
  BOOST_TEST(join_remarks("", "") == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace walk_requests_test
