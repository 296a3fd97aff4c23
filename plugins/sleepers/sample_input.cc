#include "plugins/sleepers/sample_input.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "plugins/shared/elevated_user.hpp"
#include "plugins/sleepers/skeleton.h"
#include "plugins/sleepers/sleeper_sample.h"

namespace ctprof::sleepers {
namespace {

[[noreturn]] void throw_errno(const std::string& action) {
  throw std::runtime_error(action + ": " + std::strerror(errno));
}

}  // namespace

std::unique_ptr<Program> Program::load(int& error) {
  sleepers_skeleton* skeleton = sleepers_skeleton_load(&error);
  const auto user = find_elevated_user();
  if (skeleton && user)
    sleepers_skeleton_set_user(skeleton, user->user, user->group, user->user_namespace);
  return std::unique_ptr<Program>(skeleton ? new Program(skeleton) : nullptr);
}

Program::~Program() { sleepers_skeleton_unload(skeleton_); }

void Program::select_processes(std::span<const std::uint64_t> pids, bool inherits) {
  for (const std::uint64_t pid : pids)
    if (sleepers_skeleton_select_process(skeleton_, static_cast<unsigned int>(pid)) < 0)
      throw_errno("selecting the processes of passes over the sleepers");
  if (inherits && !pids.empty() && sleepers_skeleton_follow(skeleton_) < 0)
    throw_errno("following the children of processes by BPF");
}

sdk::Fd Program::begin(std::uint32_t round) {
  sdk::Fd pass(sleepers_skeleton_open_pass(skeleton_, round));
  if (!pass) throw_errno("starting a pass over the sleepers by BPF");
  return pass;
}

KernelSampleInput::KernelSampleInput(std::unique_ptr<Program> program, std::size_t max_copied_bytes,
                                     std::set<std::uint32_t> avoided_processes)
    : program_(std::move(program)),
      copier_(max_copied_bytes, std::move(avoided_processes)),
      recheck_(sleepers_recheck_load()) {
  const auto user = find_elevated_user();
  if (recheck_ && user)
    sleepers_recheck_set_user(recheck_.get(), user->user, user->group, user->user_namespace);
}

void KernelSampleInput::Unloader::operator()(sleepers_recheck* program) const {
  sleepers_recheck_unload(program);
}

std::size_t KernelSampleInput::read(std::span<std::byte> buffer) {
  ssize_t size_read = 0;
  do size_read = ::read(records_.get(), buffer.data(), buffer.size());
  while (size_read < 0 && (errno == EINTR || errno == EAGAIN));
  if (size_read < 0) throw_errno("reading the sleepers by BPF");
  if (size_read == 0) records_ = sdk::Fd();
  return static_cast<std::size_t>(size_read);
}

recheck_entry* KernelSampleInput::recheck_buffer() {
  return recheck_ ? sleepers_recheck_threads(recheck_.get()) : nullptr;
}

bool KernelSampleInput::recheck(std::size_t count) {
  return sleepers_recheck_run(recheck_.get(), static_cast<unsigned int>(count)) == 0;
}

}  // namespace ctprof::sleepers
