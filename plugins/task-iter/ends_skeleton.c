#include "plugins/task-iter/ends_skeleton.h"

/* The generated code needs these. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "task_ends.skel.h"

struct task_ends_skeleton* task_ends_skeleton_load(unsigned int buffer_size, int* error) {
  struct task_ends* programs = task_ends__open();
  if (!programs) {
    *error = errno ? errno : ENOMEM;
    return NULL;
  }
  programs->maps.ended.max_entries = buffer_size;
  int status = task_ends__load(programs);
  *error = -status;
  if (status == 0) return (struct task_ends_skeleton*)programs;
  task_ends__destroy(programs);
  return NULL;
}

/* Marks the process of the command, so that its descendants are marked, too. */
static int mark_process(struct task_ends* programs, unsigned int command) {
  const unsigned char mark = 1;
  const int process = (int)syscall(SYS_pidfd_open, command, 0);
  if (process < 0) return -1;
  const int status =
      skel_map_update_elem(programs->maps.descendants.map_fd, &process, &mark, BPF_ANY);
  const int error = errno;
  close(process);
  errno = error;
  return status;
}

int task_ends_skeleton_follow(struct task_ends_skeleton* skeleton, unsigned int process) {
  struct task_ends* programs = (struct task_ends*)skeleton;
  const unsigned char mark = 1;
  if (programs->links.see_fork_fd <= 0 && task_ends__see_fork__attach(programs) < 0) return -1;
  if (programs->links.see_free_fd <= 0 && task_ends__see_free__attach(programs) < 0) return -1;
  return skel_map_update_elem(programs->maps.followed.map_fd, &process, &mark, BPF_ANY);
}

int task_ends_skeleton_attach(struct task_ends_skeleton* skeleton, unsigned int command) {
  struct task_ends* programs = (struct task_ends*)skeleton;
  if (command != 0 && mark_process(programs, command) < 0) return -1;
  if (command != 0 && programs->links.see_fork_fd <= 0 && task_ends__see_fork__attach(programs) < 0)
    return -1;
  if (task_ends__see_exec__attach(programs) < 0) return -1;
  return task_ends__see_last_switch__attach(programs);
}

void task_ends_skeleton_detach(struct task_ends_skeleton* skeleton) {
  struct task_ends* programs = (struct task_ends*)skeleton;
  task_ends__detach(programs);
  programs->links.see_last_switch_fd = programs->links.see_exec_fd = 0;
  programs->links.see_fork_fd = programs->links.see_free_fd = 0;
}

void task_ends_skeleton_unload(struct task_ends_skeleton* skeleton) {
  task_ends__destroy((struct task_ends*)skeleton);
}

int task_ends_skeleton_buffer(const struct task_ends_skeleton* skeleton) {
  return ((const struct task_ends*)skeleton)->maps.ended.map_fd;
}

unsigned long long task_ends_skeleton_lost(const struct task_ends_skeleton* skeleton) {
  return *(volatile unsigned long long*)&((const struct task_ends*)skeleton)->bss->lost;
}
