/* The way of the program that walks user stacks into the kernel, in C: the generated skeleton is
 * not C++. */
#ifndef CTPROF_ON_CPU_WALK_SKELETON_H
#define CTPROF_ON_CPU_WALK_SKELETON_H

#ifdef __cplusplus
extern "C" {
#endif

struct on_cpu_walk;

/* Descriptors of the program's maps, which live as long as it does. */
struct on_cpu_walk_maps {
  int chunks, rules, pages, modules, files, outputs, counts, accounts;
};

/* What the reader sets. */
struct on_cpu_walk_options {
  unsigned int depth;    /* the most frames of a stack */
  unsigned int and_copy; /* for tests: each sample has a copy, too */
  unsigned int cpus;     /* numbers of CPUs are below that */
};

/* Loads the program; NULL, and the errno in `error`, when that fails. */
struct on_cpu_walk* on_cpu_walk_load(const struct on_cpu_walk_options* options, int* error);
void on_cpu_walk_unload(struct on_cpu_walk* walk);
struct on_cpu_walk_maps on_cpu_walk_maps_of(const struct on_cpu_walk* walk);
/* Has it run at each sample of an event. 0, or an errno. */
int on_cpu_walk_attach(const struct on_cpu_walk* walk, int event);
/* From here on, ranges of code that were kept before are looked up again. */
void on_cpu_walk_renew(struct on_cpu_walk* walk);

#ifdef __cplusplus
}
#endif

#endif
