/* Loads the programs into the kernel, in C, because the generated skeletons and their code are not
 * C++. */
#ifndef CTPROF_SLEEPERS_SKELETON_H
#define CTPROF_SLEEPERS_SKELETON_H

#ifdef __cplusplus
extern "C" {
#endif

struct sleepers_skeleton;

/* Loads and attaches the program. Returns NULL, and sets `error` to the errno, on failure. */
struct sleepers_skeleton* sleepers_skeleton_load(int* error);
void sleepers_skeleton_unload(struct sleepers_skeleton* skeleton);

/* Limits passes to this process, and to others for which it is called; if it is not called, passes
 * visit all. Returns less than zero, and sets errno, on failure. */
int sleepers_skeleton_select_process(struct sleepers_skeleton* skeleton, unsigned int process);
/* Includes processes that these fork from now on, and their descendants. */
int sleepers_skeleton_follow(struct sleepers_skeleton* skeleton);
/* Limits stacks to processes that this user may inspect, whose user namespace has the number
 * `space`. */
void sleepers_skeleton_set_user(struct sleepers_skeleton* skeleton, unsigned int user,
                                unsigned int group, unsigned int space);
/* Opens a pass for reading. Returns less than zero, and sets errno, on failure. */
int sleepers_skeleton_open_pass(struct sleepers_skeleton* skeleton, unsigned int round);

/* The other program, which reports the threads that have run since; NULL if the kernel does not
 * support it. */
struct sleepers_recheck* sleepers_recheck_load(void);
void sleepers_recheck_unload(struct sleepers_recheck* recheck);
/* Like sleepers_skeleton_set_user(). */
void sleepers_recheck_set_user(struct sleepers_recheck* recheck, unsigned int user,
                               unsigned int group, unsigned int space);
/* Returns an array of RECHECK_MAX_THREADS elements. Fill it before the program runs, and read the
 * results afterwards. */
struct recheck_entry* sleepers_recheck_threads(struct sleepers_recheck* recheck);
/* Returns 0, or less than zero with errno. */
int sleepers_recheck_run(struct sleepers_recheck* recheck, unsigned int count);

#ifdef __cplusplus
}
#endif

#endif
