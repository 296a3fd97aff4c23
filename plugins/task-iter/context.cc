#include "plugins/task-iter/context.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "ctprof/files.hpp"
#include "plugins/shared/bpf_refusal.hpp"
#include "plugins/task-iter/ext_class.h"
#include "plugins/task-iter/read_ahead.hpp"

namespace ctprof::task_iter {
namespace {

constexpr const char* kSchedExtState = "kernel/sched_ext/state";

}  // namespace

Context::Context(const sdk::Host& host) : host_(host) {
  if (check_host_for_bpf(host).gap != Gap::None) return;
  loader_ = start_background_thread([this] {
    int error = 0;  // program() repeats the attempt, and reports the error
    program_ = Program::load(error);
  });
}

Context::~Context() {
  if (loader_.joinable()) loader_.join();
}

Program* Context::program(int& error) {
  const std::lock_guard lock(mutex_);
  if (loader_.joinable()) loader_.join();
  if (!program_) program_ = Program::load(error);
  return program_.get();
}

sdk::Reading<std::uint64_t> Context::find_extensible_class_address() {
  const std::lock_guard lock(mutex_);
  const int error = extensible_class_ != 0 ? 0 : task_iter_find_ext_class(&extensible_class_);
  if (error == 0) return std::uint64_t{extensible_class_};
  return error == EPERM ? Gap::Denied : Gap::Unsupported;
}

bool has_extensible_class(const sdk::Host& host) {
  return ::faccessat(host.sys(), kSchedExtState, F_OK, 0) == 0;
}

sdk::Reading<std::uint64_t> find_extensible_class(const sdk::Host& host) {
  sdk::TextFile file;
  const auto state = file.read(host.sys(), kSchedExtState);
  if (!state) return state.gap;
  if (sdk::trimmed(state.value) == "disabled") return std::uint64_t{0};
  return host.context<Context>().find_extensible_class_address();
}

}  // namespace ctprof::task_iter
