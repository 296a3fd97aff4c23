#include "plugins/task-iter/context.hpp"

#include <cerrno>

#include "plugins/task-iter/background.hpp"
#include "plugins/task-iter/ext_class.h"
#include "plugins/task-iter/probe.hpp"

namespace ctprof::task_iter {

Context::Context(const sdk::Host& host) : host_(host) {
  if (!may_have_pass(host)) return;
  loader_ = in_background([this] {
    int error = 0;  // whoever asks for the program tries again, and tells
    program_ = Program::load(error);
  });
}

Context::~Context() {
  if (loader_.joinable()) loader_.join();
}

Program* Context::program(int& error) {
  const std::lock_guard lock(guard_);
  if (loader_.joinable()) loader_.join();
  if (!program_) program_ = Program::load(error);
  return program_.get();
}

sdk::Reading<std::uint64_t> Context::address_of_extensible_class() {
  const std::lock_guard lock(guard_);
  const int error = extensible_class_ != 0 ? 0 : task_iter_find_ext_class(&extensible_class_);
  if (error == 0) return std::uint64_t{extensible_class_};
  return error == EPERM ? Gap::Denied : Gap::Unsupported;
}

}  // namespace ctprof::task_iter
