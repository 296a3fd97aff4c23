/* Loads the programs for exited threads into the kernel, in C; see skeleton.h. */
#ifndef CTPROF_TASK_ITER_THREAD_EXITS_SKELETON_H
#define CTPROF_TASK_ITER_THREAD_EXITS_SKELETON_H

#ifdef __cplusplus
extern "C" {
#endif

struct thread_exits_skeleton;

/* Loads the programs, and creates a buffer of that size, a power of two of pages. Returns NULL, and
 * sets `error` to the errno, on failure. */
struct thread_exits_skeleton* thread_exits_skeleton_load(unsigned int buffer_size, int* error);
/* Starts recording. `command`: a process that does not run yet, whose descendants are reported; 0:
 * none. Returns less than zero, and sets errno, on failure. */
int thread_exits_skeleton_attach(struct thread_exits_skeleton* skeleton, unsigned int command);
/* Reports the descendants of this process when they are created. Call it before
 * thread_exits_skeleton_attach(). Returns less than zero, and sets errno, on failure. */
int thread_exits_skeleton_follow(struct thread_exits_skeleton* skeleton, unsigned int process);
/* Stops recording; records remain in the buffer. */
void thread_exits_skeleton_detach(struct thread_exits_skeleton* skeleton);
void thread_exits_skeleton_unload(struct thread_exits_skeleton* skeleton);

/* Return the buffer, a BPF ring buffer, and the number of exits that did not fit into it so far. */
int thread_exits_skeleton_buffer(const struct thread_exits_skeleton* skeleton);
unsigned long long thread_exits_skeleton_lost(const struct thread_exits_skeleton* skeleton);

#ifdef __cplusplus
}
#endif

#endif
