/* The program's way into the kernel, in C: the generated skeleton, and the code that it brings
 * along, are not C++. */
#ifndef CTPROF_TASK_ITER_SKELETON_H
#define CTPROF_TASK_ITER_SKELETON_H

#ifdef __cplusplus
extern "C" {
#endif

struct task_iter_skeleton;

/* Loads and attaches the program; NULL, and the errno in `error`, when that fails. */
struct task_iter_skeleton* task_iter_skeleton_load(int* error);
void task_iter_skeleton_unload(struct task_iter_skeleton* skeleton);

/* Says what the next pass is to be about, and opens it for reading; less than zero, and errno, when
 * that fails. */
int task_iter_skeleton_begin(struct task_iter_skeleton* skeleton, unsigned int only_tgid,
                             unsigned int cpu_words);

#ifdef __cplusplus
}
#endif

#endif
