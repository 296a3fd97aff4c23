// Names as /proc prints them. task_struct has 15 bytes; for its own threads the kernel knows more:
// the whole name, and of a worker what it works on.
//
// What is here:   asking /proc for the names of kernel threads that are longer, once for each of
// them unless it is a worker. What is not:    names of user threads: the record has them whole.

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

  // Without blanks at its ends. It lives until the next call, or as long as the record.
  std::string_view of(const record& task);

 private:
  std::string_view read(const record& task);

  sdk::Host host_;
  sdk::TextFile file_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::string> known_;  // by id and start
};

}  // namespace ctprof::task_iter
