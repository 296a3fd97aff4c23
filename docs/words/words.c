/* Counts the words of a text, a hundred times a second: a program to make a change in.
 *
 *   cc -g -O2 -o old/words words.c
 *   cc -g -O2 -DCHANGED -o new/words words.c
 */

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static char text[12000];

__attribute__((noipa)) static void lower(char* line) {
#ifdef CHANGED
  const size_t length = strlen(line);
  for (size_t i = 0; i < length; ++i)
#else
  for (size_t i = 0; i < strlen(line); ++i)
#endif
    line[i] = (char)tolower((unsigned char)line[i]);
}

__attribute__((noipa)) static int count(const char* line) {
  int words = 0;
  for (int repeat = 0; repeat < 60; ++repeat)
    for (size_t i = 1; line[i]; ++i) words += line[i] == ' ' && line[i - 1] != ' ';
  return words;
}

int main(void) {
  for (size_t i = 0; i + 1 < sizeof text; ++i) text[i] = i % 6 ? 'W' : ' ';
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (long words = 0;; words += count(text)) {
    lower(text);
    next.tv_nsec += 10000000;
    if (next.tv_nsec >= 1000000000) next.tv_nsec -= 1000000000, ++next.tv_sec;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    if (words < 0) puts("many");
  }
}
