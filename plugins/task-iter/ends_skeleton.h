/* The way into the kernel of the programs that see threads end, in C; see skeleton.h. */
#ifndef CTPROF_TASK_ITER_ENDS_SKELETON_H
#define CTPROF_TASK_ITER_ENDS_SKELETON_H

#ifdef __cplusplus
extern "C" {
#endif

struct task_ends_skeleton;

/* Loads the programs, and makes a buffer of that size, a power of two of pages; NULL, and the errno
 * in `error`, when that fails. */
struct task_ends_skeleton* task_ends_skeleton_load(unsigned int buffer_size, int* error);
/* Begins to see. `command`: a process that does not run yet, and whose descendants are told; 0:
 * none. Less than zero, and errno, when that fails. */
int task_ends_skeleton_attach(struct task_ends_skeleton* skeleton, unsigned int command);
/* Has the processes that this one forks, and their children, be told as births. Before
 * task_ends_skeleton_attach(). Less than zero, and errno, when that fails. */
int task_ends_skeleton_follow(struct task_ends_skeleton* skeleton, unsigned int process);
/* Sees no more; what is in the buffer stays there. */
void task_ends_skeleton_detach(struct task_ends_skeleton* skeleton);
void task_ends_skeleton_unload(struct task_ends_skeleton* skeleton);

/* The buffer, a BPF ring buffer, and how many ends found no room in it until now. */
int task_ends_skeleton_buffer(const struct task_ends_skeleton* skeleton);
unsigned long long task_ends_skeleton_lost(const struct task_ends_skeleton* skeleton);

#ifdef __cplusplus
}
#endif

#endif
