/* Looks up the address of the kernel's scheduling class of BPF schedulers, in C, because the
 * generated skeleton is not C++. */
#ifndef CTPROF_TASK_ITER_EXT_CLASS_H
#define CTPROF_TASK_ITER_EXT_CLASS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Returns 0 and sets the address, which does not change while the kernel runs. Otherwise returns an
 * errno: EPERM if the kernel hides its addresses from this process, ENOENT if it has no such name.
 */
int task_iter_find_ext_class(unsigned long long* address);

#ifdef __cplusplus
}
#endif

#endif
