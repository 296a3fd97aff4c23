#include "plugins/task-iter/ends_skeleton.h"

/* The generated code wants these. */
#include <errno.h>
#include <string.h>
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

int task_ends_skeleton_attach(struct task_ends_skeleton* skeleton) {
  return task_ends__attach((struct task_ends*)skeleton);
}

void task_ends_skeleton_detach(struct task_ends_skeleton* skeleton) {
  struct task_ends* programs = (struct task_ends*)skeleton;
  task_ends__detach(programs);
  programs->links.see_last_switch_fd = programs->links.see_exec_fd = 0;
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
