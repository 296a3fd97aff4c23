#include "plugins/on-cpu/own_skeleton.h"

/* The generated code needs these. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include "own.skel.h"

struct on_cpu_own* on_cpu_own_load(unsigned int user, unsigned int group, unsigned int space,
                                   int* error) {
  struct own* program = own__open();
  if (!program) {
    *error = errno ? errno : ENOMEM;
    return NULL;
  }
  const int status = own__load(program);
  *error = -status;
  if (status == 0) {
    program->bss->lent_user = user;
    program->bss->lent_group = group;
    program->bss->lent_namespace = space;
    program->bss->is_lent = 1;
    return (struct on_cpu_own*)program;
  }
  own__destroy(program);
  return NULL;
}

void on_cpu_own_unload(struct on_cpu_own* filter) { own__destroy((struct own*)filter); }

int on_cpu_own_attach(const struct on_cpu_own* filter, int event) {
  const int program = ((const struct own*)filter)->progs.keep_own.prog_fd;
  return ioctl(event, PERF_EVENT_IOC_SET_BPF, program) == 0 ? 0 : errno;
}
