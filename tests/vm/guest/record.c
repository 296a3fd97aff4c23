/* record: copies the kernel's files, so that the host can compare a capture with them.
 *
 *   record all|threads DIRECTORY PID...
 *
 * Copies keep their path, below DIRECTORY: for each thread of the PIDs the files in /proc that a
 * capture reads, and also sched_ext and two switches; with `all` also every cgroup and pressure.
 * taskstats/<tid> contains the unchanged struct from the kernel. Files that cannot be read are left
 * out. Copies bytes without parsing them.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kMaxFileSize = 1 << 16, kMaxPathLength = 512, kMaxOpenDirectories = 16 };

static const char* target;

static void fail(const char* what) {
  fprintf(stderr, "record: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void make_directories(char* path) {
  for (char* slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(path, 0755);
    *slash = '/';
  }
}

/* Writes bytes to a file below the target directory. `name` begins with a slash. */
static void write_copy(const char* name, const char* bytes, size_t size) {
  char path[kMaxPathLength];
  snprintf(path, sizeof path, "%s%s", target, name);
  make_directories(path);
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || write(file, bytes, size) != (ssize_t)size) fail(path);
  close(file);
}

static void copy(const char* path) {
  static char bytes[kMaxFileSize];
  const int file = open(path, O_RDONLY | O_NONBLOCK);
  if (file < 0) return;
  ssize_t size = 0, received = 0;
  while ((received = read(file, bytes + size, sizeof bytes - (size_t)size)) > 0) size += received;
  close(file);
  if (received == 0) write_copy(path, bytes, (size_t)size);
}

static int copy_found(const char* path, const struct stat* status, int kind, struct FTW* place) {
  (void)status, (void)place;
  if (kind == FTW_F) copy(path);
  return 0;
}

static void copy_directory(const char* directory) {
  nftw(directory, copy_found, kMaxOpenDirectories, FTW_PHYS);
}

/* ---- taskstats ---- */

struct Request {
  struct nlmsghdr header;
  struct genlmsghdr generic;
  struct nlattr attribute;
  char value[16];
};

static int netlink;

/* Sends one attribute and receives all attributes of the answer. Returns their size, or 0. */
static size_t request_attributes(int family, int command, int type, const void* value, size_t size,
                                 char* answer, size_t capacity) {
  struct Request request = {.generic = {.cmd = (unsigned char)command, .version = 1}};
  request.attribute = (struct nlattr){(unsigned short)(NLA_HDRLEN + size), (unsigned short)type};
  memcpy(request.value, value, size);
  const size_t request_size = NLMSG_LENGTH(GENL_HDRLEN + NLA_HDRLEN) + NLA_ALIGN(size);
  request.header =
      (struct nlmsghdr){(unsigned)request_size, (unsigned short)family, NLM_F_REQUEST, 1, 0};
  static char message[kMaxFileSize];
  if (send(netlink, &request, request_size, 0) < 0) fail("netlink");
  const ssize_t received = recv(netlink, message, sizeof message, 0);
  const size_t before = NLMSG_HDRLEN + GENL_HDRLEN;
  if (received <= (ssize_t)before || ((struct nlmsghdr*)message)->nlmsg_type == NLMSG_ERROR ||
      (size_t)received - before > capacity)
    return 0;
  memcpy(answer, message + before, (size_t)received - before);
  return (size_t)received - before;
}

/* Returns the attribute of this type in `bytes`, without its header, or NULL. */
static const char* find_attribute(const char* bytes, size_t size, int type, size_t* length) {
  for (size_t at = 0; at + NLA_HDRLEN <= size;) {
    struct nlattr attribute;
    memcpy(&attribute, bytes + at, sizeof attribute);
    *length = attribute.nla_len - NLA_HDRLEN;
    if ((attribute.nla_type & NLA_TYPE_MASK) == type) return bytes + at + NLA_HDRLEN;
    at += NLA_ALIGN(attribute.nla_len);
  }
  return NULL;
}

static int find_taskstats_family(void) {
  char answer[4096];
  size_t length = 0;
  const size_t size =
      request_attributes(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME,
                         TASKSTATS_GENL_NAME, sizeof TASKSTATS_GENL_NAME, answer, sizeof answer);
  const char* const found = find_attribute(answer, size, CTRL_ATTR_FAMILY_ID, &length);
  unsigned short id = 0;
  if (found) memcpy(&id, found, sizeof id);
  return id;
}

static void copy_taskstats(int family, unsigned tid) {
  char answer[4096], name[64];
  size_t length = 0;
  const size_t size = request_attributes(family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_PID, &tid,
                                         sizeof tid, answer, sizeof answer);
  const char* const aggregate = find_attribute(answer, size, TASKSTATS_TYPE_AGGR_PID, &length);
  const char* const stats =
      aggregate ? find_attribute(aggregate, length, TASKSTATS_TYPE_STATS, &length) : NULL;
  snprintf(name, sizeof name, "/taskstats/%u", tid);
  if (stats) write_copy(name, stats, length);
}

static int open_taskstats(void) {
  const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
  netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
  if (netlink < 0 || bind(netlink, (const struct sockaddr*)&kernel, sizeof kernel) != 0)
    fail("netlink");
  return find_taskstats_family();
}

/* ---- threads ---- */

static const char* const kThreadFiles[] = {"stat",  "status", "schedstat", "io",
                                           "sched", "comm",   "cgroup"};
static const char* const kProcessFiles[] = {"comm", "stat", "status", "cgroup", "smaps_rollup"};

static void copy_files(const char* pid, const char* below, const char* const* files, size_t count) {
  char path[kMaxPathLength];
  for (size_t i = 0; i < count; ++i) {
    snprintf(path, sizeof path, "/proc/%s%s/%s", pid, below, files[i]);
    copy(path);
  }
}

static void copy_process(const char* pid, int family) {
  char path[kMaxPathLength], below[64];
  copy_files(pid, "", kProcessFiles, sizeof kProcessFiles / sizeof kProcessFiles[0]);
  snprintf(path, sizeof path, "/proc/%s/task", pid);
  DIR* const tasks = opendir(path);
  if (!tasks) return;
  for (struct dirent* entry = readdir(tasks); entry; entry = readdir(tasks)) {
    if (entry->d_name[0] == '.') continue;
    snprintf(below, sizeof below, "/task/%.20s", entry->d_name);
    copy_files(pid, below, kThreadFiles, sizeof kThreadFiles / sizeof kThreadFiles[0]);
    copy_taskstats(family, (unsigned)strtoul(entry->d_name, NULL, 10));
  }
  closedir(tasks);
}

int main(int argc, char** argv) {
  if (argc < 3) return fprintf(stderr, "usage: record all|threads DIRECTORY PID...\n"), 2;
  target = argv[2];
  const int family = open_taskstats();
  for (int i = 3; i < argc; ++i) copy_process(argv[i], family);
  copy_directory("/sys/kernel/sched_ext");
  copy("/proc/sys/kernel/sched_schedstats");
  copy("/proc/sys/kernel/task_delayacct");
  copy("/proc/cmdline");
  copy("/proc/version");
  if (strcmp(argv[1], "all") != 0) return 0;
  copy_directory("/sys/fs/cgroup");
  copy_directory("/proc/pressure");
  return 0;
}
