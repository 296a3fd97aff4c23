#include "plugins/sleepers/skeleton.h"

/* The generated code needs these. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sleeping_threads.skel.h"

#include "plugins/shared/iter_pass.h"

struct sleepers_skeleton* sleepers_skeleton_load(int* error) {
  struct sleeping_threads* program = sleeping_threads__open();
  if (!program) {
    *error = errno ? errno : ENOMEM;
    return NULL;
  }
  int status = sleeping_threads__load(program);
  *error = -status;
  if (status == 0 && (status = sleeping_threads__sample_thread__attach(program)) < 0)
    *error = errno;
  if (status >= 0) return (struct sleepers_skeleton*)program;
  sleeping_threads__destroy(program);
  return NULL;
}

void sleepers_skeleton_unload(struct sleepers_skeleton* skeleton) {
  sleeping_threads__destroy((struct sleeping_threads*)skeleton);
}

int sleepers_skeleton_select_process(struct sleepers_skeleton* skeleton, unsigned int process) {
  struct sleeping_threads* program = (struct sleeping_threads*)skeleton;
  const unsigned char yes = 1;
  program->bss->only_tgid = program->bss->only_processes++ == 0 ? process : 0;
  return skel_map_update_elem(program->maps.processes.map_fd, &process, &yes, BPF_ANY);
}

int sleepers_skeleton_follow(struct sleepers_skeleton* skeleton) {
  struct sleeping_threads* program = (struct sleeping_threads*)skeleton;
  program->bss->only_tgid = 0;
  if (sleeping_threads__on_free__attach(program) < 0) return -1;
  return sleeping_threads__on_fork__attach(program);
}

void sleepers_skeleton_set_user(struct sleepers_skeleton* skeleton, unsigned int user,
                                unsigned int group, unsigned int space) {
  struct sleeping_threads* program = (struct sleeping_threads*)skeleton;
  program->bss->elevated_uid = user;
  program->bss->elevated_gid = group;
  program->bss->elevated_namespace = space;
  program->bss->is_elevated = 1;
}

int sleepers_skeleton_open_pass(struct sleepers_skeleton* skeleton, unsigned int round) {
  struct sleeping_threads* program = (struct sleeping_threads*)skeleton;
  program->bss->this_round = round;
  return open_pass_over_process(program->progs.sample_thread.prog_fd,
                                program->links.sample_thread_fd, program->bss->only_tgid);
}
