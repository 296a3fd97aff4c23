/* A service with four worker threads, and with one fault that the argument selects.
 *
 *   cc -g -O2 -pthread -o service service.c
 *   ./service ok|lock|disk|memory
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kWorkers = 4, kReply = 16384 };

static const char* fault;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static int journal;

static int is_fault(const char* name) { return strcmp(fault, name) == 0; }

__attribute__((noipa)) static void compute_reply(char* reply) {
  for (int round = 0; round < 20; ++round)
    for (int i = 0; i < kReply; ++i) reply[i] = (char)(reply[i] * 31 + i);
}

/* The fault "lock": it sleeps while it holds the lock. */
__attribute__((noipa)) static void update_table(void) {
  pthread_mutex_lock(&table_lock);
  if (is_fault("lock")) usleep(4000);
  pthread_mutex_unlock(&table_lock);
}

/* The fault "disk": it waits for the disk in each request. */
__attribute__((noipa)) static void write_journal(const char* reply) {
  if (pwrite(journal, reply, kReply, 0) < 0) abort();
  if (is_fault("disk")) fdatasync(journal);
}

/* The fault "memory": it keeps every reply. */
__attribute__((noipa)) static void serve_request(void) {
  char* reply = calloc(1, kReply);
  compute_reply(reply);
  update_table();
  write_journal(reply);
  if (!is_fault("memory")) free(reply);
}

static void* serve(void* unused) {
  (void)unused;
  for (;;) {
    serve_request();
    usleep(5000);
  }
  return NULL;
}

int main(int argc, char** argv) {
  fault = argc > 1 ? argv[1] : "ok";
  journal = open("journal", O_CREAT | O_WRONLY, 0600);
  if (journal < 0) return 1;
  for (int i = 0; i < kWorkers; ++i) {
    pthread_t worker;
    pthread_create(&worker, NULL, serve, NULL);
    pthread_setname_np(worker, "worker");
  }
  pause();
}
