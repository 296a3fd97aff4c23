/* Loads the programs for exited threads into the kernel, in C; see skeleton.h. */
#ifndef CTPROF_TASK_ITER_ENDS_SKELETON_H
#define CTPROF_TASK_ITER_ENDS_SKELETON_H

#ifdef __cplusplus
extern "C" {
#endif

struct task_ends_skeleton;

/* Loads the programs, and creates a buffer of that size, a power of two of pages. Returns NULL, and
 * sets `error` to the errno, on failure. */
struct task_ends_skeleton* task_ends_skeleton_load(unsigned int buffer_size, int* error);
/* Starts recording. `command`: a process that does not run yet, whose descendants are reported; 0:
 * none. Returns less than zero, and sets errno, on failure. */
int task_ends_skeleton_attach(struct task_ends_skeleton* skeleton, unsigned int command);
/* Reports the descendants of this process when they are created. Call it before
 * task_ends_skeleton_attach(). Returns less than zero, and sets errno, on failure. */
int task_ends_skeleton_follow(struct task_ends_skeleton* skeleton, unsigned int process);
/* Stops recording; records remain in the buffer. */
void task_ends_skeleton_detach(struct task_ends_skeleton* skeleton);
void task_ends_skeleton_unload(struct task_ends_skeleton* skeleton);

/* Return the buffer, a BPF ring buffer, and the number of exits that did not fit into it so far. */
int task_ends_skeleton_buffer(const struct task_ends_skeleton* skeleton);
unsigned long long task_ends_skeleton_lost(const struct task_ends_skeleton* skeleton);

#ifdef __cplusplus
}
#endif

#endif
