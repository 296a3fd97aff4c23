#include "plugins/on-cpu/own_process_filter.hpp"

#include <cerrno>

#ifdef CTPROF_OWN_PROCESS_FILTER
#include "plugins/on-cpu/own_processes_skeleton.h"
#endif

namespace ctprof::on_cpu {

#ifdef CTPROF_OWN_PROCESS_FILTER
std::shared_ptr<const OwnProcessFilter> OwnProcessFilter::load(const ElevatedUser& user,
                                                               int& error) {
  on_cpu_own_processes* program =
      on_cpu_own_processes_load(user.user, user.group, user.user_namespace, &error);
  return program ? std::shared_ptr<const OwnProcessFilter>(new OwnProcessFilter(program)) : nullptr;
}

OwnProcessFilter::~OwnProcessFilter() { on_cpu_own_processes_unload(program_); }

int OwnProcessFilter::attach(int event) const {
  return on_cpu_own_processes_attach(program_, event);
}
#else
std::shared_ptr<const OwnProcessFilter> OwnProcessFilter::load(const ElevatedUser&, int& error) {
  error = ENOSYS;
  return nullptr;
}

OwnProcessFilter::~OwnProcessFilter() = default;

int OwnProcessFilter::attach(int) const { return program_ ? ENOSYS : EINVAL; }
#endif

}  // namespace ctprof::on_cpu
