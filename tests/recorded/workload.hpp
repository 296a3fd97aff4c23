// A program whose threads are recorded. It is created stopped, so that its process id is known
// before it runs. Its standard output is kept.

#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace ctprof::recorded {

class Workload {
 public:
  // Throws std::runtime_error if no process can be created.
  explicit Workload(std::vector<std::string> command);
  ~Workload();
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  pid_t pid() const { return pid_; }
  void release();
  // Returns immediately. Throws std::runtime_error if the program failed.
  bool has_exited();
  // Returns the complete output; call it after the program has exited.
  std::string output();

 private:
  [[noreturn]] void run(const std::vector<std::string>& command) const;

  pid_t pid_ = -1;
  int start_pipe_[2] = {-1, -1};
  int output_[2] = {-1, -1};
  bool has_exited_ = false;
};

}  // namespace ctprof::recorded
