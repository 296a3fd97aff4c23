/* Code that identifies which of several equal files it runs from: rbp contains a number while it
 * runs. A test maps these files one after the other at the same address.
 */

/* race_spin(number, rounds): calls no other function, so the code works at any address. */
__asm__(
    ".globl race_spin\n"
    ".type race_spin, @function\n"
    "race_spin:\n"
    ".cfi_startproc\n"
    "  push %rbp\n"
    ".cfi_def_cfa_offset 16\n"
    ".cfi_offset %rbp, -16\n"
    "  mov %rdi, %rbp\n"
    "1:\n"
    "  dec %rsi\n"
    "  jnz 1b\n"
    "  pop %rbp\n"
    ".cfi_def_cfa_offset 8\n"
    ".cfi_restore %rbp\n"
    "  ret\n"
    ".cfi_endproc\n"
    ".size race_spin, .-race_spin\n");
