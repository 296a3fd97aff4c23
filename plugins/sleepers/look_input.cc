#include "plugins/sleepers/look_input.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "plugins/shared/lent_user.hpp"
#include "plugins/sleepers/look.h"
#include "plugins/sleepers/skeleton.h"

namespace ctprof::sleepers {
namespace {

[[noreturn]] void fail(const std::string& deed) {
  throw std::runtime_error(deed + ": " + std::strerror(errno));
}

}  // namespace

std::unique_ptr<Program> Program::load(int& error) {
  sleepers_skeleton* skeleton = sleepers_skeleton_load(&error);
  const auto user = lent_user();
  if (skeleton && user) sleepers_skeleton_lend(skeleton, user->user, user->group);
  return std::unique_ptr<Program>(skeleton ? new Program(skeleton) : nullptr);
}

Program::~Program() { sleepers_skeleton_unload(skeleton_); }

void Program::want(std::span<const std::uint64_t> pids, bool inherits) {
  for (const std::uint64_t pid : pids)
    if (sleepers_skeleton_want(skeleton_, static_cast<unsigned int>(pid)) < 0)
      fail("selecting the processes of passes over the sleepers");
  if (inherits && !pids.empty() && sleepers_skeleton_follow(skeleton_) < 0)
    fail("following the children of processes by BPF");
}

sdk::Fd Program::begin(std::uint32_t round) {
  sdk::Fd pass(sleepers_skeleton_begin(skeleton_, round));
  if (!pass) fail("starting a pass over the sleepers by BPF");
  return pass;
}

KernelLooks::KernelLooks(std::unique_ptr<Program> program, std::size_t most_copied,
                         std::set<std::uint32_t> avoided)
    : program_(std::move(program)),
      copier_(most_copied, std::move(avoided)),
      recheck_(sleepers_recheck_load()) {
  const auto user = lent_user();
  if (recheck_ && user) sleepers_recheck_lend(recheck_.get(), user->user, user->group);
}

void KernelLooks::Unload::operator()(sleepers_recheck* program) const {
  sleepers_recheck_unload(program);
}

std::size_t KernelLooks::read(std::span<std::byte> room) {
  ssize_t got = 0;
  do got = ::read(records_.get(), room.data(), room.size());
  while (got < 0 && (errno == EINTR || errno == EAGAIN));
  if (got < 0) fail("reading the sleepers by BPF");
  if (got == 0) records_ = sdk::Fd();
  return static_cast<std::size_t>(got);
}

rechecked* KernelLooks::recheck_room() {
  return recheck_ ? sleepers_recheck_threads(recheck_.get()) : nullptr;
}

bool KernelLooks::recheck(std::size_t count) {
  return sleepers_recheck_run(recheck_.get(), static_cast<unsigned int>(count)) == 0;
}

}  // namespace ctprof::sleepers
