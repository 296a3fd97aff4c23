#include "plugins/on-cpu/own_processes_skeleton.h"

/* The generated code needs these. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include "own_processes.skel.h"

struct on_cpu_own_processes* on_cpu_own_processes_load(unsigned int user, unsigned int group,
                                                       unsigned int space, int* error) {
  struct own_processes* program = own_processes__open();
  if (!program) {
    *error = errno ? errno : ENOMEM;
    return NULL;
  }
  const int status = own_processes__load(program);
  *error = -status;
  if (status == 0) {
    program->bss->elevated_uid = user;
    program->bss->elevated_gid = group;
    program->bss->elevated_namespace = space;
    program->bss->is_elevated = 1;
    return (struct on_cpu_own_processes*)program;
  }
  own_processes__destroy(program);
  return NULL;
}

void on_cpu_own_processes_unload(struct on_cpu_own_processes* filter) {
  own_processes__destroy((struct own_processes*)filter);
}

int on_cpu_own_processes_attach(const struct on_cpu_own_processes* filter, int event) {
  const int program = ((const struct own_processes*)filter)->progs.is_own_process.prog_fd;
  return ioctl(event, PERF_EVENT_IOC_SET_BPF, program) == 0 ? 0 : errno;
}
