#include "plugins/sleepers/recheck.h"

#include "plugins/sleepers/skeleton.h"

/* The generated code needs these. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "recheck.skel.h"

struct sleepers_recheck* sleepers_recheck_load(void) {
  struct recheck* program = recheck__open();
  if (!program) return NULL;
  if (recheck__load(program) == 0) return (struct sleepers_recheck*)program;
  recheck__destroy(program);
  return NULL;
}

void sleepers_recheck_unload(struct sleepers_recheck* recheck) {
  recheck__destroy((struct recheck*)recheck);
}

void sleepers_recheck_set_user(struct sleepers_recheck* recheck, unsigned int user,
                               unsigned int group, unsigned int space) {
  struct recheck* program = (struct recheck*)recheck;
  program->bss->elevated_uid = user;
  program->bss->elevated_gid = group;
  program->bss->elevated_namespace = space;
  program->bss->is_elevated = 1;
}

struct recheck_entry* sleepers_recheck_threads(struct sleepers_recheck* recheck) {
  return ((struct recheck*)recheck)->bss->threads;
}

int sleepers_recheck_run(struct sleepers_recheck* recheck, unsigned int count) {
  struct recheck* program = (struct recheck*)recheck;
  union bpf_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  program->bss->count = count;
  attributes.test.prog_fd = (__u32)program->progs.recheck.prog_fd;
  return skel_sys_bpf(BPF_PROG_RUN, &attributes, sizeof attributes);
}
