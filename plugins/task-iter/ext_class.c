#include "plugins/task-iter/ext_class.h"

/* The generated code needs these. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ext_class.skel.h"

static int run_program(int program, unsigned long long* address) {
  union bpf_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.test.prog_fd = (__u32)program;
  attributes.test.ctx_in = (__u64)(unsigned long)address;
  attributes.test.ctx_size_in = sizeof *address;
  if (skel_sys_bpf(BPF_PROG_RUN, &attributes, sizeof attributes) < 0) return errno;
  return -(int)attributes.test.retval;
}

int task_iter_find_ext_class(unsigned long long* address) {
  struct ext_class* program = ext_class__open();
  if (!program) return errno ? errno : ENOMEM;
  int error = -ext_class__load(program);
  if (error == 0) error = run_program(program->progs.find_ext_class.prog_fd, address);
  ext_class__destroy(program);
  return error;
}
