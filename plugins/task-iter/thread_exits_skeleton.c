#include "plugins/task-iter/thread_exits_skeleton.h"

/* The generated code needs these. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thread_exits.skel.h"

struct thread_exits_skeleton* thread_exits_skeleton_load(unsigned int buffer_size, int* error) {
  struct thread_exits* programs = thread_exits__open();
  if (!programs) {
    *error = errno ? errno : ENOMEM;
    return NULL;
  }
  programs->maps.exit_records.max_entries = buffer_size;
  int status = thread_exits__load(programs);
  *error = -status;
  if (status == 0) return (struct thread_exits_skeleton*)programs;
  thread_exits__destroy(programs);
  return NULL;
}

/* Marks the process of the command, so that its descendants are marked, too. */
static int mark_process(struct thread_exits* programs, unsigned int command) {
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

int thread_exits_skeleton_follow(struct thread_exits_skeleton* skeleton, unsigned int process) {
  struct thread_exits* programs = (struct thread_exits*)skeleton;
  const unsigned char mark = 1;
  if (programs->links.on_fork_fd <= 0 && thread_exits__on_fork__attach(programs) < 0) return -1;
  if (programs->links.on_free_fd <= 0 && thread_exits__on_free__attach(programs) < 0) return -1;
  return skel_map_update_elem(programs->maps.followed_tgids.map_fd, &process, &mark, BPF_ANY);
}

int thread_exits_skeleton_attach(struct thread_exits_skeleton* skeleton, unsigned int command) {
  struct thread_exits* programs = (struct thread_exits*)skeleton;
  if (command != 0 && mark_process(programs, command) < 0) return -1;
  if (command != 0 && programs->links.on_fork_fd <= 0 &&
      thread_exits__on_fork__attach(programs) < 0)
    return -1;
  if (thread_exits__on_exec__attach(programs) < 0) return -1;
  return thread_exits__on_last_switch__attach(programs);
}

void thread_exits_skeleton_detach(struct thread_exits_skeleton* skeleton) {
  struct thread_exits* programs = (struct thread_exits*)skeleton;
  thread_exits__detach(programs);
  programs->links.on_last_switch_fd = programs->links.on_exec_fd = 0;
  programs->links.on_fork_fd = programs->links.on_free_fd = 0;
}

void thread_exits_skeleton_unload(struct thread_exits_skeleton* skeleton) {
  thread_exits__destroy((struct thread_exits*)skeleton);
}

int thread_exits_skeleton_buffer(const struct thread_exits_skeleton* skeleton) {
  return ((const struct thread_exits*)skeleton)->maps.exit_records.map_fd;
}

unsigned long long thread_exits_skeleton_lost(const struct thread_exits_skeleton* skeleton) {
  return *(volatile unsigned long long*)&((const struct thread_exits*)skeleton)->bss->lost;
}
