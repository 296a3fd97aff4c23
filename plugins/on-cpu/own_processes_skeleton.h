/* Loads the filter into the kernel, in C, because the generated skeleton is not C++. */
#ifndef CTPROF_ON_CPU_OWN_PROCESSES_SKELETON_H
#define CTPROF_ON_CPU_OWN_PROCESSES_SKELETON_H

#ifdef __cplusplus
extern "C" {
#endif

struct on_cpu_own_processes;

/* Loads the program for this user, whose user namespace has the number `space`. Returns NULL, and
 * sets `error` to the errno, on failure. */
struct on_cpu_own_processes* on_cpu_own_processes_load(unsigned int user, unsigned int group,
                                                       unsigned int space, int* error);
void on_cpu_own_processes_unload(struct on_cpu_own_processes* filter);
/* Attaches it to an event, so that it runs at each sample. Returns 0, or an errno. */
int on_cpu_own_processes_attach(const struct on_cpu_own_processes* filter, int event);

#ifdef __cplusplus
}
#endif

#endif
