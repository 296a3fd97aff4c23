// Drops samples of processes that the user may not inspect, by a BPF program that the kernel runs
// at each sample.
//
//   if (const auto user = find_elevated_user())
//     sampling.filter = OwnProcessFilter::load(*user, error);
//
// Threads: any, after it is loaded.

#pragma once

#include <memory>

#include "plugins/shared/elevated_user.hpp"

struct on_cpu_own_processes;

namespace ctprof::on_cpu {

class OwnProcessFilter {
 public:
  // Returns null, and sets `error` to an errno, if the kernel refuses the program (ENOSYS: it was
  // not built).
  static std::shared_ptr<const OwnProcessFilter> load(const ElevatedUser& user, int& error);
  ~OwnProcessFilter();
  OwnProcessFilter(const OwnProcessFilter&) = delete;
  OwnProcessFilter& operator=(const OwnProcessFilter&) = delete;

  // Attaches the program to an event, so that it runs at each sample as long as the event exists.
  // Returns 0, or an errno.
  int attach(int event) const;

 private:
  explicit OwnProcessFilter(on_cpu_own_processes* program) : program_(program) {}
  on_cpu_own_processes* program_;
};

}  // namespace ctprof::on_cpu
