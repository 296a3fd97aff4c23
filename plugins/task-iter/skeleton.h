/* Loads the program into the kernel, in C, because the generated skeleton and its code are not C++.
 */
#ifndef CTPROF_TASK_ITER_SKELETON_H
#define CTPROF_TASK_ITER_SKELETON_H

#ifdef __cplusplus
extern "C" {
#endif

struct task_iter_skeleton;

/* Loads and attaches the program. Returns NULL, and sets `error` to the errno, on failure. */
struct task_iter_skeleton* task_iter_skeleton_load(int* error);
void task_iter_skeleton_unload(struct task_iter_skeleton* skeleton);

/* Sets the parameters of the next pass, and opens it for reading. Returns less than zero, and sets
 * errno, on failure. */
int task_iter_skeleton_begin(struct task_iter_skeleton* skeleton, unsigned int only_tgid,
                             unsigned int cpu_words);

#ifdef __cplusplus
}
#endif

#endif
