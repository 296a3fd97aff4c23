/* Where the kernel's scheduling class of BPF schedulers is, in C: the generated skeleton is not
 * C++. */
#ifndef CTPROF_TASK_ITER_EXT_CLASS_H
#define CTPROF_TASK_ITER_EXT_CLASS_H

#ifdef __cplusplus
extern "C" {
#endif

/* 0, and the address, which is the same as long as the kernel runs; else an errno: EPERM when the
 * kernel keeps its addresses from this process, ENOENT when it has no such name. */
int task_iter_find_ext_class(unsigned long long* address);

#ifdef __cplusplus
}
#endif

#endif
