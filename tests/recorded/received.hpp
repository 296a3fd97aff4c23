// Keeps what a recorder reports to the core, for a test. Also provides the host that the test
// passes to the recorder.

#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "ctprof/host.hpp"
#include "ctprof/records.hpp"

namespace ctprof::recorded {

struct ReceivedRecord {
  ctprof_record record;  // its pointers are invalid
  std::vector<std::uint64_t> kernel, user;
  std::vector<std::uint8_t> stack;
};

class ReceivedData {
 public:
  ReceivedData() {
    abi_ = {};
    abi_.size = sizeof abi_;
    abi_.core = this;
    abi_.message = message_;
    abi_.message_size = sizeof message_;
    abi_.put = [](void* self, const ctprof_record* record) {
      static_cast<ReceivedData*>(self)->put(*record);
    };
    abi_.change = [](void* self, const ctprof_change* change) {
      static_cast<ReceivedData*>(self)->put(*change);
    };
    abi_.lose = [](void* self, const ctprof_loss* loss) {
      static_cast<ReceivedData*>(self)->losses.push_back(*loss);
    };
  }
  ReceivedData(const ReceivedData&) = delete;
  ReceivedData& operator=(const ReceivedData&) = delete;

  sdk::Records sink() { return sdk::Records(abi_); }
  std::uint64_t lost() const { return abi_.lost; }
  std::uint64_t unseen() const { return abi_.unseen; }
  std::uint64_t cpu_ns() const { return abi_.cpu_ns; }
  std::string message() const { return message_; }

  std::vector<ReceivedRecord> records;
  std::vector<ctprof_change> changes;  // their pointers are invalid
  std::vector<std::string> paths;      // the path of each change
  std::vector<ctprof_loss> losses;
  // The times of all records and changes, in the order in which they were reported.
  std::vector<std::uint64_t> times;

 private:
  template <class Value>
  static std::vector<Value> copy(const Value* from, std::size_t count) {
    return count == 0 ? std::vector<Value>() : std::vector<Value>(from, from + count);
  }
  void put(const ctprof_change& change) {
    times.push_back(change.at_ns);
    changes.push_back(change);
    paths.emplace_back(change.path.data, change.path.size);
  }
  void put(const ctprof_record& record) {
    times.push_back(record.at_ns);
    records.push_back({record, copy(record.kernel, record.kernel_count),
                       copy(record.user, record.user_count),
                       copy(record.stack, record.stack_size)});
  }

  ctprof_records abi_;
  char message_[4096] = "";
};

// A host whose /proc is the directory `proc`. For a replay, this directory contains no processes.
class TestHost {
 public:
  explicit TestHost(const std::string& proc, const std::string& sys = "")
      : proc_(proc), fd_(open_directory(proc)), sys_fd_(open_directory(sys)) {
    if (fd_ < 0) throw std::runtime_error("no directory '" + proc + "'");
    abi_ = {};
    abi_.size = sizeof abi_;
    abi_.flags = CTPROF_HOST_LIVE | CTPROF_HOST_OWN_TIDS;
    abi_.proc_fd = fd_;
    abi_.sys_fd = sys_fd_;
    abi_.cgroup_fd = -1;
    abi_.user_hz = static_cast<std::uint32_t>(kUserHz);
    abi_.proc = proc_.c_str();
    abi_.sys = abi_.cgroup = "";
    abi_.sample_tgid = abi_.sample_tid = static_cast<std::uint64_t>(::getpid());
  }
  ~TestHost() {
    for (const int fd : {fd_, sys_fd_})
      if (fd >= 0) ::close(fd);
  }
  TestHost(const TestHost&) = delete;
  TestHost& operator=(const TestHost&) = delete;

  static constexpr std::uint64_t kUserHz = 100;
  sdk::Host host() const { return sdk::Host(abi_); }
  const ctprof_host& abi() const { return abi_; }

 private:
  static int open_directory(const std::string& path) {
    return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }

  std::string proc_;
  int fd_, sys_fd_;
  ctprof_host abi_;
};

}  // namespace ctprof::recorded
