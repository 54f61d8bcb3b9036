/* Calls of what takes its return address off the stack, keeps it on another, and jumps there in the end: where they end is
 * not known, but what the function that makes them costs is.
 *
 * total: fibonacci 2208
 * call: main fibonacci 2208 */
#include "totals.h"

long fibonacci(long n, void *stack);

/* 4, of 89 numbers below 2 another 4, of 88 others 21: with the address to go back to at (rsi) */
FUNCTION(fibonacci, "sub $24, %rsi; lea 9f(%rip), %r11; mov %r11, (%rsi)\n"
                    "1: cmp $2, %rdi; jl 8f; sub $24, %rsi; mov %rdi, 8(%rsi); dec %rdi; jmp 3f\n"
                    "2: pop %r11; mov %r11, (%rsi); jmp 1b\n"
                    "3: call 2b; mov %rax, 16(%rsi); mov 8(%rsi), %rdi; sub $2, %rdi; jmp 5f\n"
                    "4: pop %r11; mov %r11, (%rsi); jmp 1b\n"
                    "5: call 4b; add 16(%rsi), %rax; add $24, %rsi; jmp *(%rsi)\n"
                    "8: mov %rdi, %rax; jmp *(%rsi)\n"
                    "9: ret\n");

static char stack[1 << 10];

int main(void) { return fibonacci(10, stack + sizeof stack) != 55; }
