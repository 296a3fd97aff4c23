/* Shows what the process that loads this plugin has of the user who checks it: one line for each
 * item, after the line `process:`.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sound_plugin.h"

static void show_descriptors(void) {
  for (int fd = STDERR_FILENO + 1; fd < 64; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) fprintf(stderr, "has descriptor %d\n", fd);
  }
}

static void show_input(void) {
  char line[64];
  const ssize_t size = read(STDIN_FILENO, line, sizeof line);
  if (size > 0) fprintf(stderr, "reads %.*s", (int)size, line);
}

__attribute__((constructor)) static void show_process(void) {
  fputs("process:\n", stderr);
  if (getenv("TOKEN")) fputs("has TOKEN\n", stderr);
  if (getsid(0) == getsid(getppid())) fputs("is in the session of its parent\n", stderr);
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) fputs("may gain rights\n", stderr);
  show_descriptors();
  show_input();
}
