/* known: a program whose functions are all known, from its first instruction on. It uses no
 * library, not even the C library.
 *
 * Repeats until it is killed: eight parts of work in known_heavy(), which known_middle() calls; two
 * parts in known_light(); and reads of /dev/zero in known_reader(), which spend their time in the
 * kernel. Variants: the compiler's default, with frame pointers, and, for arm64, with signed return
 * addresses.
 */
#include <linux/fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>

enum { kPart = 200 * 1000, kReads = 8, kBytes = 64 * 1024 };
/* Volatile, so that the compiler does not create clones of functions for constant arguments. */
static volatile uint64_t heavy_parts = 8, light_parts = 2;

#define KNOWN __attribute__((noinline, used))

void known_main(void) __attribute__((noreturn, used));

/* Unwinding ends here, because _start has no caller. */
#if defined(__x86_64__)
__asm__(
    ".globl _start\n.type _start, @function\n_start:\n.cfi_startproc\n.cfi_undefined rip\n"
    "xor %ebp, %ebp\nand $-16, %rsp\ncall known_main\nhlt\n.cfi_endproc\n.size _start, . - "
    "_start\n");

static long call_system(long number, long first, long second, long third, long fourth) {
  register long r10 __asm__("r10") = fourth;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(first), "S"(second), "d"(third), "r"(r10)
                   : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
__asm__(
    ".globl _start\n.type _start, %function\n_start:\n.cfi_startproc\n.cfi_undefined x30\n"
    "mov x29, #0\nmov x30, #0\nbl known_main\nbrk #0\n.cfi_endproc\n.size _start, . - _start\n");

static long call(long number, long first, long second, long third, long fourth) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = first;
  register long x1 __asm__("x1") = second;
  register long x2 __asm__("x2") = third;
  register long x3 __asm__("x3") = fourth;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
  return x0;
}
#else
#error "known supports only x86-64 and arm64"
#endif

static char buffer[kBytes];

/* The variable on the stack makes the compiler set up a frame in leaf functions too, if an option
 * requests it.
 */
#define WORK(parts)                        \
  volatile uint64_t until = (parts)*kPart; \
  for (uint64_t i = 0, end = until; i < end; ++i) __asm__ volatile("" : : "r"(i))

static KNOWN void known_heavy(uint64_t parts) {
  WORK(parts);
  until = 0;
}

/* Its stack frame differs in size from its caller's, so that a wrong unwind rule is noticed. */
static KNOWN void known_middle(uint64_t parts) {
  volatile uint64_t padding[31];
  padding[0] = parts;
  known_heavy(padding[0]);
  padding[30] = parts;
}

static KNOWN void known_light(uint64_t parts) {
  WORK(parts);
  until = 0;
}

static KNOWN void known_reader(long file) {
  volatile long count = kReads;
  while (count-- > 0) call_system(SYS_read, file, (long)buffer, kBytes, 0);
}

void known_main(void) {
  const long file = call_system(SYS_openat, AT_FDCWD, (long)"/dev/zero", O_RDONLY, 0);
  for (;;) {
    known_middle(heavy_parts);
    known_light(light_parts);
    known_reader(file);
  }
}
