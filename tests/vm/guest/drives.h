/* drives: declarations shared by the families of work, one subject per file: wakeups.c, balance.c,
 * waits.c, memory.c, policies.c, groups.c. */
#ifndef TESTS_VM_GUEST_DRIVES_H_
#define TESTS_VM_GUEST_DRIVES_H_

#include <stddef.h>
#include <stdint.h>

/* One process. Its main thread has the family's name. prepare() starts the other threads, if any,
 * which stay until the end. */
struct Family {
  const char* name;
  const char* cgroup;    /* below /sys/fs/cgroup, created by workload.sh; "" is the root */
  void (*prepare)(void); /* runs before the first capture; may be NULL */
  void (*work)(void);    /* runs between the captures */
};

/* The last entry of each array has the name NULL. */
extern const struct Family kWakeups[], kBalance[], kWaits[], kMemory[], kPolicies[], kGroups[];

enum { kPage = 4096, kBothCpus = 3 };

void fail(const char* what);
void check(int is_ok, const char* what);
void pin(int tid, unsigned mask); /* bit 0 is CPU 0; tid 0 is the caller */
void spin_ms(int milliseconds);
void sleep_ms(int milliseconds);
void start_thread(const char* name, void (*body)(void));
char* map_anonymous_pages(size_t pages); /* untouched memory without huge pages */
void touch_pages(char* memory, size_t pages, char byte);
void fill_file(const char* path, size_t pages); /* on disk, but not in the page cache */
void drop_page_cache(void);
void sleep_forever(void);

#endif /* TESTS_VM_GUEST_DRIVES_H_ */
