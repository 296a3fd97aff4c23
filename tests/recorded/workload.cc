#include "tests/recorded/workload.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

namespace ctprof::recorded {

Workload::Workload(std::vector<std::string> command) {
  if (::pipe(start_pipe_) != 0 || ::pipe(output_) != 0 || (pid_ = ::fork()) < 0)
    throw std::runtime_error("cannot create a process for '" + command.front() + "'");
  if (pid_ == 0) run(command);
  ::close(start_pipe_[0]);
  ::close(output_[1]);
}

void Workload::run(const std::vector<std::string>& command) const {
  char byte;
  ::close(start_pipe_[1]);
  if (::read(start_pipe_[0], &byte, 1) != 1) ::_exit(1);
  ::dup2(output_[1], STDOUT_FILENO);
  for (const int fd : {start_pipe_[0], output_[0], output_[1]}) ::close(fd);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execv(words.front(), words.data());
  ::_exit(127);
}

Workload::~Workload() {
  if (!has_exited_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(start_pipe_[1]);
  ::close(output_[0]);
}

void Workload::release() {
  if (::write(start_pipe_[1], "x", 1) != 1) throw std::runtime_error("the workload has exited");
}

bool Workload::has_exited() {
  int status = 0;
  if (has_exited_ || ::waitpid(pid_, &status, WNOHANG) != pid_) return has_exited_;
  has_exited_ = true;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw std::runtime_error("the workload failed");
  return true;
}

std::string Workload::output() {
  std::string output;
  char buffer[4096];
  for (ssize_t got; (got = ::read(output_[0], buffer, sizeof buffer)) > 0;)
    output.append(buffer, static_cast<std::size_t>(got));
  return output;
}

}  // namespace ctprof::recorded
