/* race LIBRARY...: maps the code of libraries in turn at one address for each thread, runs it, and
 * unmaps it, while other threads do the same, and child processes execute other programs. Each
 * library has race_spin (race_library.c), which is called with the number of its library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kThreads = 4, kMaxLibraries = 1024, kRounds = 20000, kFirstNumber = 0x5a0000 };

static int libraries[kMaxLibraries];
static int count;
static uint64_t code_offset, code_size, spin_in_code;

typedef void (*spin_t)(uint64_t number, uint64_t rounds);

/* Finds the code in the file, and race_spin in the code. */
static void find_code(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  void* spin = library ? dlsym(library, "race_spin") : NULL;
  Dl_info info;
  if (!spin || !dladdr(spin, &info)) exit(2);
  const uint64_t base = (uintptr_t)info.dli_fbase;
  const ElfW(Ehdr)* header = info.dli_fbase;
  const ElfW(Phdr)* segments = (const void*)(base + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type != PT_LOAD || !(segments[i].p_flags & PF_X)) continue;
    code_offset = segments[i].p_offset & ~4095ull;
    code_size = (segments[i].p_filesz + 4095) & ~4095ull;
    spin_in_code =
        (uintptr_t)spin - base - segments[i].p_vaddr + segments[i].p_offset - code_offset;
  }
}

static void* run_libraries(void* address) {
  for (unsigned round = (uintptr_t)address >> 20;; ++round) {
    const int number = (int)(round % (unsigned)count);
    void* at = mmap(address, code_size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
                    libraries[number], (off_t)code_offset);
    if (at != address) exit(3);
    ((spin_t)((uintptr_t)at + spin_in_code))(kFirstNumber + (uint64_t)number, kRounds);
    if (round % 3 != 0) munmap(at, code_size);
  }
  return NULL;
}

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  find_code(argv[1]);
  for (; count < argc - 1 && count < kMaxLibraries; ++count)
    libraries[count] = open(argv[count + 1], O_RDONLY | O_CLOEXEC);
  pthread_t thread;
  for (uintptr_t i = 0; i < kThreads; ++i)
    pthread_create(&thread, NULL, run_libraries, (void*)(0x200000000000 + (i << 20)));
  for (;;) {
    char* const command[] = {"true", NULL};
    pid_t child = 0;
    if (posix_spawnp(&child, "true", NULL, NULL, command, NULL) == 0) waitpid(child, NULL, 0);
  }
}
