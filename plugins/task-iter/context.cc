#include "plugins/task-iter/context.hpp"

#include <cerrno>

#include "plugins/task-iter/ext_class.h"

namespace ctprof::task_iter {

Program* Context::program(int& error) {
  const std::lock_guard lock(guard_);
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
