#include "plugins/task-iter/skeleton.h"

/* The generated code wants these. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "task_iter.skel.h"

struct task_iter_skeleton* task_iter_skeleton_load(int* error) {
  struct task_iter* program = task_iter__open();
  if (!program) {
    *error = errno ? errno : ENOMEM;
    return NULL;
  }
  int status = task_iter__load(program);
  *error = -status;
  if (status == 0 && (status = task_iter__attach(program)) < 0) *error = errno;
  if (status >= 0) return (struct task_iter_skeleton*)program;
  task_iter__destroy(program);
  return NULL;
}

void task_iter_skeleton_unload(struct task_iter_skeleton* skeleton) {
  task_iter__destroy((struct task_iter*)skeleton);
}

/* A link whose passes visit the threads of one process alone. Kernels before 6.1 cannot be told so,
 * and say E2BIG or EINVAL. */
static int link_to_process(int program, unsigned int tgid) {
  union bpf_iter_link_info which;
  union bpf_attr attributes;
  memset(&which, 0, sizeof which);
  memset(&attributes, 0, sizeof attributes);
  which.task.pid = tgid;
  attributes.link_create.prog_fd = (__u32)program;
  attributes.link_create.attach_type = BPF_TRACE_ITER;
  attributes.link_create.iter_info = (__u64)(unsigned long)&which;
  attributes.link_create.iter_info_len = sizeof which;
  return skel_sys_bpf(BPF_LINK_CREATE, &attributes, sizeof attributes);
}

static int open_pass(int link) {
  union bpf_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.iter_create.link_fd = (__u32)link;
  return skel_sys_bpf(BPF_ITER_CREATE, &attributes, sizeof attributes);
}

int task_iter_skeleton_begin(struct task_iter_skeleton* skeleton, unsigned int only_tgid,
                             unsigned int cpu_words) {
  struct task_iter* program = (struct task_iter*)skeleton;
  program->bss->only_tgid = only_tgid;
  program->bss->cpu_words = cpu_words;
  program->bss->last_tgid = 0;
  if (only_tgid == 0) return open_pass(program->links.copy_task_fd);
  int link = link_to_process(program->progs.copy_task.prog_fd, only_tgid);
  if (link < 0 && (errno == E2BIG || errno == EINVAL))
    return open_pass(program->links.copy_task_fd); /* which passes over the others */
  if (link < 0) return link;
  int pass = open_pass(link);
  int error = errno;
  close(link);
  errno = error;
  return pass;
}
