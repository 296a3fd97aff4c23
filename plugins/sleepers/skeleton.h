/* The program's way into the kernel, in C: the generated skeleton, and the code that it brings
 * along, are not C++. */
#ifndef CTPROF_SLEEPERS_SKELETON_H
#define CTPROF_SLEEPERS_SKELETON_H

#ifdef __cplusplus
extern "C" {
#endif

struct sleepers_skeleton;

/* Loads and attaches the program; NULL, and the errno in `error`, when that fails. */
struct sleepers_skeleton* sleepers_skeleton_load(int* error);
void sleepers_skeleton_unload(struct sleepers_skeleton* skeleton);

/* Passes are to be about this process, and others for which it is called; none: all. Less than
 * zero, and errno, when that fails. */
int sleepers_skeleton_want(struct sleepers_skeleton* skeleton, unsigned int process);
/* Passes are also about what these processes fork from now on, and what that forks. */
int sleepers_skeleton_follow(struct sleepers_skeleton* skeleton);
/* Has stacks be told of processes that this user may look into, and of no others. */
void sleepers_skeleton_lend(struct sleepers_skeleton* skeleton, unsigned int user,
                            unsigned int group);
/* Opens a pass for reading; less than zero, and errno, when that fails. */
int sleepers_skeleton_begin(struct sleepers_skeleton* skeleton, unsigned int round);

/* The other one, which tells who has run since; NULL where the kernel does not take it. */
struct sleepers_recheck* sleepers_recheck_load(void);
void sleepers_recheck_unload(struct sleepers_recheck* recheck);
/* As sleepers_skeleton_lend(). */
void sleepers_recheck_lend(struct sleepers_recheck* recheck, unsigned int user, unsigned int group);
/* RECHECK_MOST of them, to be filled before it runs, and looked at afterwards. */
struct rechecked* sleepers_recheck_threads(struct sleepers_recheck* recheck);
/* 0, or less and errno. */
int sleepers_recheck_run(struct sleepers_recheck* recheck, unsigned int count);

#ifdef __cplusplus
}
#endif

#endif
