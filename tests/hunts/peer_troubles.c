/* Programs in which threads or processes wait for each other. Kinds:
 *
 *   holder    four threads take one lock in turn; then each sleeps for 20 ms with the lock
 *   deadlock  two threads take two locks in the same order; then in opposite orders
 *   flock     locks a file that five processes h-lockers lock for 20 us each; then keeps the lock
 *   pipeline  sends blocks to the process h-consumer, which uses each for 20 us; then for 2 ms
 *   sockets   answers the process h-clients within 20 us; then within 3 ms
 *   spawner   sleeps; then two threads start programs of the kind `task` one after the other
 *   task      runs for 20 ms and exits; started by `spawner`
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "troubles.h"

enum { kHolders = 4, kClients = 3, kLockers = 5, kSpawners = 2 };

static pthread_mutex_t one_lock = PTHREAD_MUTEX_INITIALIZER;

static void* hold_lock(void* unused) {
  for (;;) {
    pthread_mutex_lock(&one_lock);
    run_for(20 * kUs);
    if (has_trouble) sleep_for(20 * kMs);
    pthread_mutex_unlock(&one_lock);
    sleep_for(kMs);
  }
  return unused;
}

static void start_holder(void) {
  for (int i = 0; i < kHolders; ++i) start(hold_lock, NULL);
}

static pthread_mutex_t two_locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t both_have_one;

static void* take_both(void* is_second) {
  while (!has_trouble) {
    pthread_mutex_lock(&two_locks[0]);
    pthread_mutex_lock(&two_locks[1]);
    run_for(kMs);
    pthread_mutex_unlock(&two_locks[1]);
    pthread_mutex_unlock(&two_locks[0]);
    sleep_for(3 * kMs);
  }
  pthread_mutex_lock(&two_locks[is_second != NULL]);
  pthread_barrier_wait(&both_have_one);
  pthread_mutex_lock(&two_locks[is_second == NULL]);
  return is_second;
}

static void start_deadlock(void) {
  static int second;
  pthread_barrier_init(&both_have_one, NULL, 2);
  start(take_both, NULL);
  start(take_both, &second);
}

/* `has_trouble` for a program and its children. */
static atomic_int* shared_trouble;

static void share_trouble(void) { *shared_trouble = 1; }

static void map_shared_trouble(void) {
  shared_trouble =
      mmap(NULL, sizeof *shared_trouble, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  check(shared_trouble != MAP_FAILED, "mmap");
}

/* Returns 1 in the child, which has this name and exits with its parent. */
static int fork_named(const char* name) {
  const pid_t child = fork();
  check(child >= 0, "fork");
  if (child != 0) return 0;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, name);
  return 1;
}

/* Locks the file again and again. A thread that can keep the lock does so during the problem. */
static void* lock_file(void* can_keep) {
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  check(fd >= 0, path);
  for (;;) {
    check(flock(fd, LOCK_EX) == 0, "flock");
    run_for(20 * kUs);
    while (can_keep != NULL && *shared_trouble) sleep_for(kMs);
    check(flock(fd, LOCK_UN) == 0, "flock");
    sleep_for(5 * kMs);
  }
  return can_keep;
}

static void start_flock(void) {
  map_shared_trouble();
  for (int i = 0; i < kLockers; ++i)
    if (fork_named("h-lockers")) lock_file(NULL);
  start(lock_file, shared_trouble);
}

static int blocks[2];

static void consume(void) {
  static char block[kBlockBytes];
  while (read(blocks[0], block, sizeof block) > 0) run_for(*shared_trouble ? 2 * kMs : 20 * kUs);
  _exit(0);
}

static void* produce(void* unused) {
  static char block[kBlockBytes];
  for (;;) {
    run_for(100 * kUs);
    sleep_for(kMs);
    check(write(blocks[1], block, sizeof block) == sizeof block, "write");
  }
  return unused;
}

static void start_pipeline(void) {
  map_shared_trouble();
  check(pipe(blocks) == 0, "pipe");
  if (fork_named("h-consumer")) consume();
  start(produce, NULL);
}

static int connections[kClients][2], requests[2];

/* Sends its number to the server, and waits for the answer at its own socket. */
static void* send_requests(void* number) {
  const int client = (int)(intptr_t)number;
  char answer;
  for (;;) {
    const char request = (char)client;
    check(write(requests[1], &request, 1) == 1, "write");
    check(read(connections[client][0], &answer, 1) == 1, "read");
    sleep_for(5 * kMs);
  }
  return number;
}

static void* answer_requests(void* unused) {
  for (;;) {
    char client;
    check(read(requests[0], &client, 1) == 1, "read");
    run_for(*shared_trouble ? 3 * kMs : 20 * kUs);
    check(write(connections[(int)client][1], &client, 1) == 1, "write");
  }
  return unused;
}

static void start_sockets(void) {
  map_shared_trouble();
  check(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, requests) == 0, "socketpair");
  for (int i = 0; i < kClients; ++i)
    check(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, connections[i]) == 0, "socketpair");
  if (fork_named("h-clients")) {
    for (int i = 1; i < kClients; ++i) start(send_requests, (void*)(intptr_t)i);
    send_requests(NULL);
  }
  start(answer_requests, NULL);
}

static void* spawn_repeatedly(void* unused) {
  for (;;) {
    const pid_t child = fork();
    check(child >= 0, "fork");
    if (child == 0) {
      execl("/proc/self/exe", "troubles", "task", "h-task", NULL);
      _exit(1);
    }
    waitpid(child, NULL, 0);
  }
  return unused;
}

static void start_spawners(void) {
  for (int i = 0; i < kSpawners; ++i) start(spawn_repeatedly, NULL);
}

static void run_task(void) {
  run_for(20 * kMs);
  _exit(0);
}

const struct kind peer_kinds[] = {
    {"holder", start_holder, do_nothing},
    {"deadlock", start_deadlock, do_nothing},
    {"flock", start_flock, share_trouble},
    {"pipeline", start_pipeline, share_trouble},
    {"sockets", start_sockets, share_trouble},
    {"spawner", do_nothing, start_spawners},
    {"task", run_task, do_nothing},
    {NULL, NULL, NULL},
};
