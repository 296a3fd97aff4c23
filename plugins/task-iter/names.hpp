// Names of threads. task_struct has 15 bytes, which is all of a user thread's name; of a kernel
// thread's the kernel may know more, and /proc is asked for it, once for each such thread.

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "ctprof/files.hpp"
#include "ctprof/host.hpp"
#include "plugins/task-iter/record.h"

namespace ctprof::task_iter {

class Names {
 public:
  explicit Names(const sdk::Host& host) : host_(host) {}

  // It lives until the next call, or as long as the record.
  std::string_view of(const record& task);

 private:
  std::string_view read(const record& task);

  sdk::Host host_;
  sdk::TextFile file_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::string> known_;  // by id and start
};

}  // namespace ctprof::task_iter
