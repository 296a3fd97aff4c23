/* The filter's way into the kernel, in C: the generated skeleton is not C++. */
#ifndef CTPROF_ON_CPU_OWN_SKELETON_H
#define CTPROF_ON_CPU_OWN_SKELETON_H

#ifdef __cplusplus
extern "C" {
#endif

struct on_cpu_own;

/* Loads the program for this user; NULL, and the errno in `error`, when that fails. */
struct on_cpu_own* on_cpu_own_load(unsigned int user, unsigned int group, int* error);
void on_cpu_own_unload(struct on_cpu_own* filter);
/* Has it run at each sample of an event. 0, or an errno. */
int on_cpu_own_attach(const struct on_cpu_own* filter, int event);

#ifdef __cplusplus
}
#endif

#endif
