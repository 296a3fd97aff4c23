#include "plugins/on-cpu/walk_skeleton.h"

/* The generated code needs these. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include "walk.skel.h"

struct on_cpu_walk* on_cpu_walk_load(const struct on_cpu_walk_options* options, int* error) {
  struct walk* walk = walk__open();
  if (!walk) {
    *error = errno ? errno : ENOMEM;
    return NULL;
  }
  walk->maps.walk_outputs.max_entries = options->cpu_limit;
  const int status = walk__load(walk);
  *error = -status;
  if (status != 0) {
    walk__destroy(walk);
    return NULL;
  }
  walk->data->walk_depth = options->depth;
  walk->bss->walk_and_copy = options->also_copies;
  return (struct on_cpu_walk*)walk;
}

void on_cpu_walk_unload(struct on_cpu_walk* walk) { walk__destroy((struct walk*)walk); }

struct on_cpu_walk_maps on_cpu_walk_get_maps(const struct on_cpu_walk* walk) {
  const struct walk* skeleton = (const struct walk*)walk;
  const struct on_cpu_walk_maps maps = {
      .chunks = skeleton->maps.walk_chunks.map_fd,
      .rules = skeleton->maps.walk_rules.map_fd,
      .pages = skeleton->maps.walk_pages.map_fd,
      .modules = skeleton->maps.walk_modules.map_fd,
      .files = skeleton->maps.walk_files.map_fd,
      .outputs = skeleton->maps.walk_outputs.map_fd,
      .counts = skeleton->maps.walk_counts.map_fd,
      .accounts = skeleton->maps.walk_accounts.map_fd,
  };
  return maps;
}

int on_cpu_walk_attach(const struct on_cpu_walk* walk, int event) {
  const int program = ((const struct walk*)walk)->progs.walk_sample.prog_fd;
  return ioctl(event, PERF_EVENT_IOC_SET_BPF, program) == 0 ? 0 : errno;
}

unsigned long long on_cpu_walk_count_unlisted(const struct on_cpu_walk* walk) {
  const struct walk* skeleton = (const struct walk*)walk;
  return __atomic_load_n(&skeleton->bss->walk_unlisted_walks, __ATOMIC_RELAXED);
}

void on_cpu_walk_invalidate_code_cache(struct on_cpu_walk* walk) {
  struct walk* skeleton = (struct walk*)walk;
  __atomic_store_n(&skeleton->bss->walk_epoch, skeleton->bss->walk_epoch + 1, __ATOMIC_RELAXED);
}
