#include "plugins/sleepers/skeleton.h"

/* The generated code needs these. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "look.skel.h"

#include "plugins/shared/iter_pass.h"

struct sleepers_skeleton* sleepers_skeleton_load(int* error) {
  struct look* program = look__open();
  if (!program) {
    *error = errno ? errno : ENOMEM;
    return NULL;
  }
  int status = look__load(program);
  *error = -status;
  if (status == 0 && (status = look__look__attach(program)) < 0) *error = errno;
  if (status >= 0) return (struct sleepers_skeleton*)program;
  look__destroy(program);
  return NULL;
}

void sleepers_skeleton_unload(struct sleepers_skeleton* skeleton) {
  look__destroy((struct look*)skeleton);
}

int sleepers_skeleton_select_process(struct sleepers_skeleton* skeleton, unsigned int process) {
  struct look* program = (struct look*)skeleton;
  const unsigned char yes = 1;
  program->bss->only_tgid = program->bss->only_processes++ == 0 ? process : 0;
  return skel_map_update_elem(program->maps.processes.map_fd, &process, &yes, BPF_ANY);
}

int sleepers_skeleton_follow(struct sleepers_skeleton* skeleton) {
  struct look* program = (struct look*)skeleton;
  program->bss->only_tgid = 0;
  if (look__see_free__attach(program) < 0) return -1;
  return look__see_fork__attach(program);
}

void sleepers_skeleton_set_user(struct sleepers_skeleton* skeleton, unsigned int user,
                                unsigned int group, unsigned int space) {
  struct look* program = (struct look*)skeleton;
  program->bss->lent_user = user;
  program->bss->lent_group = group;
  program->bss->lent_namespace = space;
  program->bss->is_lent = 1;
}

int sleepers_skeleton_open_pass(struct sleepers_skeleton* skeleton, unsigned int round) {
  struct look* program = (struct look*)skeleton;
  program->bss->this_round = round;
  return open_pass_over_process(program->progs.look.prog_fd, program->links.look_fd,
                                program->bss->only_tgid);
}
