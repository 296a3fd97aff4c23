#include "plugins/task-iter/skeleton.h"

/* The generated code needs these. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "task_iter.skel.h"

#include "plugins/shared/iter_pass.h"

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

int task_iter_skeleton_begin(struct task_iter_skeleton* skeleton, unsigned int only_tgid,
                             unsigned int cpu_words) {
  struct task_iter* program = (struct task_iter*)skeleton;
  program->bss->only_tgid = only_tgid;
  program->bss->cpu_words = cpu_words;
  program->bss->last_tgid = 0;
  return open_pass_over_process(program->progs.copy_task.prog_fd, program->links.copy_task_fd,
                                only_tgid);
}
