// taskstats_floor: the minimal cost of requesting the taskstats of every thread: 64 requests in one
// send, their answers by one recvmmsg, over a raw socket. The answers are only counted.
//
//   taskstats_floor    prints {"floor_ns": N, "threads": N, "answers": N}
//
// Needs CAP_NET_ADMIN. The time excludes listing the threads and opening the socket.

#define _GNU_SOURCE
#include <dirent.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kMaxThreads = 1 << 22, kBatch = 64, kAnswerBytes = 2048, kReceiveBufferBytes = 1024 * 1024 };

struct Request {
  struct nlmsghdr message;
  struct genlmsghdr command;
  struct nlattr attribute;
  uint32_t tid;
};

static uint32_t* tids;
static size_t tid_count, answers;
static char answer_buffers[kBatch][kAnswerBytes];
static struct iovec iovecs[kBatch];
static struct mmsghdr headers[kBatch];

static int fail(const char* action) { return perror(action), 1; }

static unsigned long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (unsigned long long)now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec;
}

// Calls `visit` with every entry of the directory that is a number.
static void walk(const char* path, void (*visit)(uint32_t)) {
  DIR* dir = opendir(path);
  if (!dir) return;
  for (struct dirent* entry; (entry = readdir(dir));)
    if (atoi(entry->d_name) > 0) visit((uint32_t)atoi(entry->d_name));
  closedir(dir);
}

static void add_thread(uint32_t tid) {
  if (tid_count < kMaxThreads) tids[tid_count++] = tid;
}

static void add_process(uint32_t tgid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%u/task", tgid);
  walk(path, add_thread);
}

// Returns the id of the family TASKSTATS, the first attribute of that type in the answer; 0 if
// there is none.
static uint16_t find_family(int socket) {
  struct {
    struct nlmsghdr message;
    struct genlmsghdr command;
    struct nlattr attribute;
    char name[12];
  } request = {{sizeof request, GENL_ID_CTRL, NLM_F_REQUEST, 1, 0},
               {CTRL_CMD_GETFAMILY, 1, 0},
               {NLA_HDRLEN + sizeof TASKSTATS_GENL_NAME, CTRL_ATTR_FAMILY_NAME},
               TASKSTATS_GENL_NAME};
  if (send(socket, &request, sizeof request, 0) < 0) return 0;
  const long size = recv(socket, answer_buffers, sizeof answer_buffers, 0);
  const char* answer = answer_buffers[0];
  for (long offset = NLMSG_HDRLEN + GENL_HDRLEN; offset + NLA_HDRLEN < size;) {
    const struct nlattr* attribute = (const struct nlattr*)(answer + offset);
    if (attribute->nla_type == CTRL_ATTR_FAMILY_ID) return *(const uint16_t*)(attribute + 1);
    offset += NLA_ALIGN(attribute->nla_len);
  }
  return 0;
}

static int request_batch(int socket, uint16_t family, const uint32_t* batch_tids, unsigned count) {
  struct Request requests[kBatch];
  for (unsigned i = 0; i < count; i++)
    requests[i] = (struct Request){{sizeof *requests, family, NLM_F_REQUEST, i, 0},
                                   {TASKSTATS_CMD_GET, TASKSTATS_GENL_VERSION, 0},
                                   {NLA_HDRLEN + sizeof *batch_tids, TASKSTATS_CMD_ATTR_PID},
                                   batch_tids[i]};
  if (send(socket, requests, count * sizeof *requests, 0) < 0) return -1;
  const int size = recvmmsg(socket, headers, count, 0, NULL);
  if (size > 0) answers += (size_t)size;
  return size;
}

int main(void) {
  tids = malloc(sizeof *tids * kMaxThreads);  // pages are allocated only where they are used
  walk("/proc", add_process);
  const int receive_buffer_bytes = kReceiveBufferBytes,
            netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
  if (netlink < 0) return fail("taskstats_floor: socket");
  setsockopt(netlink, SOL_SOCKET, SO_RCVBUFFORCE, &receive_buffer_bytes,
             sizeof receive_buffer_bytes);
  const uint16_t family = find_family(netlink);
  if (family == 0) return fprintf(stderr, "taskstats_floor: the kernel has no taskstats\n"), 1;
  for (int i = 0; i < kBatch; i++) {
    iovecs[i] = (struct iovec){answer_buffers[i], kAnswerBytes};
    headers[i].msg_hdr = (struct msghdr){.msg_iov = &iovecs[i], .msg_iovlen = 1};
  }
  const unsigned long long start = now_ns();
  for (size_t i = 0; i < tid_count; i += kBatch)
    if (request_batch(netlink, family, tids + i,
                      (unsigned)(tid_count - i < kBatch ? tid_count - i : kBatch)) < 0)
      return fail("taskstats_floor: asking");
  printf("{\"floor_ns\": %llu, \"threads\": %zu, \"answers\": %zu}\n", now_ns() - start, tid_count,
         answers);
  free(tids);
  return 0;
}
