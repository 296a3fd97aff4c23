/* Loads the program that walks user stacks into the kernel, in C, because the generated skeleton is
 * not C++. */
#ifndef CTPROF_ON_CPU_WALK_SKELETON_H
#define CTPROF_ON_CPU_WALK_SKELETON_H

#ifdef __cplusplus
extern "C" {
#endif

struct on_cpu_walk;

/* Descriptors of the program's maps, which are valid as long as the program is loaded. */
struct on_cpu_walk_maps {
  int chunks, rules, pages, modules, files, outputs, counts, accounts;
};

/* Options that the reader sets. */
struct on_cpu_walk_options {
  unsigned int depth;       /* the largest number of frames of a stack */
  unsigned int also_copies; /* for tests: each sample also has a copy */
  unsigned int cpu_limit;   /* all CPU numbers are below this */
};

/* Loads the program. Returns NULL, and sets `error` to the errno, on failure. */
struct on_cpu_walk* on_cpu_walk_load(const struct on_cpu_walk_options* options, int* error);
void on_cpu_walk_unload(struct on_cpu_walk* walk);
struct on_cpu_walk_maps on_cpu_walk_get_maps(const struct on_cpu_walk* walk);
/* Attaches it to an event, so that it runs at each sample. Returns 0, or an errno. */
int on_cpu_walk_attach(const struct on_cpu_walk* walk, int event);
/* Returns the number of walks that found a file for which the list of files has no space. */
unsigned long long on_cpu_walk_count_unlisted(const struct on_cpu_walk* walk);
/* Invalidates cached ranges of code, so that they are looked up again. */
void on_cpu_walk_invalidate_code_cache(struct on_cpu_walk* walk);

#ifdef __cplusplus
}
#endif

#endif
