/* An output plugin that misbehaves as its option `mode` says. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ctprof/output.h"

static const struct ctprof_option kOptions[] = {{.size = sizeof(struct ctprof_option),
                                                 .key = "mode",
                                                 .fallback = "good",
                                                 .description = "What it does."}};

static const struct ctprof_output_core* g_core;
static int g_was_readable; /* whether other processes of the user could read the memory of this
                              process while it loaded the plugin */

__attribute__((constructor)) static void check_readable(void) {
  g_was_readable = prctl(PR_GET_DUMPABLE);
}

static const char* g_mode = "";

static int is_mode(const char* mode) { return strcmp(g_mode, mode) == 0; }

static void wait_forever(void) {
  for (;;) pause();
}

static int32_t open_output(const struct ctprof_output_core* core, void** state, char* message,
                           size_t message_size) {
  (void)state;
  g_core = core;
  g_mode = CTPROF_ITEM(struct ctprof_setting, core->settings, 0)->value;
  if (is_mode("hang-open")) wait_forever();
  if (is_mode("crash-open")) abort();
  if (is_mode("refuse-open")) return snprintf(message, message_size, "mode: refused");
  return 0;
}

static void write_text(const char* text) { g_core->write(g_core->core, text, strlen(text)); }

/* Writes the lines of /proc/self/status about users and capabilities. */
static void write_rights(void) {
  char line[256];
  FILE* file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (strncmp(line, "Uid:", 4) == 0 || strncmp(line, "Groups:", 7) == 0 ||
        strncmp(line, "Cap", 3) == 0 || strncmp(line, "NoNewPrivs:", 11) == 0)
      write_text(line);
  if (file) fclose(file);
  write_text(g_was_readable ? "Memory:\treadable\n" : "Memory:\tprivate\n");
}

/* Writes the numbers of the open descriptors. */
static void write_descriptors(void) {
  char line[32];
  for (int fd = 0; fd < 1024; ++fd)
    if (lseek(fd, 0, SEEK_CUR) >= 0 || dup2(fd, fd) == fd) {
      snprintf(line, sizeof line, "%d\n", fd);
      write_text(line);
    }
}

enum { kFirstOwnDescriptor = 3, kDescriptors = 64 };

/* Writes bytes to every connection to ctprof. */
static void write_to_connections(const void* bytes, size_t size) {
  for (int fd = kFirstOwnDescriptor; fd < kDescriptors; ++fd)
    if (write(fd, bytes, size) < 0) continue;
}

/* Sends answers that the window was delivered, without end. */
static void flood(void) {
  for (;;) write_to_connections("\1\0\0\0D", 5);
}

/* Tries to open descriptors in ctprof. */
static void pass_descriptors(void) {
  char answer[] = "+D";
  struct iovec bytes = {answer, 2};
  union {
    char space[CMSG_SPACE(2 * sizeof(int))];
    struct cmsghdr alignment;
  } control = {{0}};
  struct msghdr message = {.msg_iov = &bytes,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = sizeof control};
  struct cmsghdr* const header = CMSG_FIRSTHDR(&message);
  const int passed[2] = {STDERR_FILENO, STDERR_FILENO};
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof passed);
  memcpy(CMSG_DATA(header), passed, sizeof passed);
  for (int fd = kFirstOwnDescriptor; fd < kDescriptors; ++fd) sendmsg(fd, &message, MSG_NOSIGNAL);
}

/* Writes what the process can do with the terminal and the keys of the session. */
static void write_session(void) {
  struct stat status;
  write_text(open("/dev/tty", O_RDWR) < 0 ? "no terminal\n" : "a terminal\n");
  write_text(fstat(STDERR_FILENO, &status) == 0 && S_ISFIFO(status.st_mode)
                 ? "messages in a pipe\n"
                 : "messages elsewhere\n");
  const long key =
      syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "ctprof-test", 0);
  write_text(key < 0 ? "no key\n" : "a key\n");
}

/* Sends a signal to the process that the mode names. */
static void send_signal(void) {
  int process = 0;
  if (sscanf(g_mode, "signal-put:%d", &process) != 1) return;
  write_text(kill(process, SIGKILL) == 0 ? "sent\n" : "refused\n");
}

/* Writes the name of the process. */
static void write_name(void) {
  char name[32] = "";
  prctl(PR_GET_NAME, name);
  strcat(name, "\n");
  write_text(name);
}

/* Writes the variables of the environment. */
static void write_environment(void) {
  char line[4096];
  for (char** variable = environ; *variable; ++variable) {
    snprintf(line, sizeof line, "%s\n", *variable);
    write_text(line);
  }
}

/* Counts the texts "PRIVATE-" followed by "TEXT" in the private memory of the process. They are
 * compared in two parts, so that this function contains none. */
static void count_private_texts(void) {
  char line[512], mode[5];
  unsigned long begin, end, at;
  int count = 0;
  FILE* file = fopen("/proc/self/maps", "r");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "%lx-%lx %4s", &begin, &end, mode) == 3 && strcmp(mode, "rw-p") == 0)
      for (at = begin; at + 12 <= end; ++at)
        count += memcmp((const void*)at, "PRIVATE-", 8) == 0 &&
                 memcmp((const void*)(at + 8), "TEXT", 4) == 0;
  if (file) fclose(file);
  snprintf(line, sizeof line, "%d private texts\n", count);
  write_text(line);
}

/* Starts a process that has a lock on the file `lock`, and waits until it has it. */
static void start_process_with_lock(void) {
  const int file = open("lock", O_RDWR);
  if (flock(file, LOCK_EX) != 0) abort();
  if (fork() == 0) wait_forever();
  close(file);
}

/* Returns the number of files with windows that the process maps. */
static int count_mapped_windows(void) {
  char line[512];
  int count = 0;
  FILE* file = fopen("/proc/self/maps", "r");
  if (!file) return -1;
  while (fgets(line, sizeof line, file)) count += strstr(line, "/memfd:ctprof-window") != NULL;
  fclose(file);
  return count;
}

static int32_t put(void* state, const struct ctprof_output_window* window, char* message,
                   size_t message_size) {
  char line[128];
  (void)state;
  if (is_mode("hang-put")) wait_forever();
  if (is_mode("crash-put")) abort();
  if (is_mode("exit-put")) _exit(7);
  if (is_mode("fail-put")) return snprintf(message, message_size, "the server is closed");
  if (is_mode("silent-put")) return 5;
  if (is_mode("print-put")) printf("a stray line\n"), fflush(stdout);
  if (is_mode("print-controls-put")) fputs("\033]0;title\007\n", stderr);
  if (is_mode("print-much-put"))
    for (int i = 0; i < 50000; ++i) fprintf(stderr, "line %d\n", i);
  while (is_mode("print-endless-put")) fputs("more\n", stderr);
  if (is_mode("truncate-put") && ftruncate(STDERR_FILENO, 0) == 0) printf("truncated\n");
  if (is_mode("rights-put")) write_rights();
  if (is_mode("descriptors-put")) write_descriptors();
  if (is_mode("flood-put")) flood();
  if (is_mode("garbage-put")) write_to_connections("\xff\xff\xff\xff", 4), wait_forever();
  if (is_mode("pass-descriptors-put")) pass_descriptors();
  if (is_mode("session-put")) write_session();
  send_signal();
  if (is_mode("name-put")) write_name();
  if (is_mode("environment-put")) write_environment();
  if (is_mode("memory-put")) count_private_texts();
  if (is_mode("fork-put")) start_process_with_lock();
  if (is_mode("maps-put") && count_mapped_windows() != 0)
    return snprintf(message, message_size, "%d windows are mapped", count_mapped_windows());
  if (is_mode("close-put")) close_range(3, ~0u, 0), wait_forever();
  snprintf(line, sizeof line, "window, %llu dropped before\n",
           (unsigned long long)window->dropped_before);
  if (is_mode("good")) write_text(line);
  return 0;
}

static int32_t close_output(void* state, char* message, size_t message_size) {
  (void)state;
  if (is_mode("hang-close")) wait_forever();
  if (is_mode("fail-close")) return snprintf(message, message_size, "the last line is missing");
  return 0;
}

CTPROF_EXPORT const struct ctprof_output ctprof_output = {.abi = CTPROF_OUTPUT_ABI,
                                                          .size = sizeof(struct ctprof_output),
                                                          .name = "awkward",
                                                          .version = "1",
                                                          .description = "Misbehaves.",
                                                          .options = CTPROF_ARRAY_OF(kOptions),
                                                          .open = open_output,
                                                          .put = put,
                                                          .close = close_output};
