/* A function of two paths. Behind the edge that tells the second one, control goes another way once if there is an
 * argument. */
#include <stdio.h>

void strays(int number, int odd);

__asm__(".globl strays\n"
        ".type strays, @function\n"
        "strays:\n"
        "    test $1, %edi\n"
        "    jnz 3f\n"
        "    jmp 2f\n"
        "1:  cmp %esi, %edi\n"
        "    jne 2f\n"
        "    nop\n"
        "2:  ret\n"
        "3:  jmp 1b\n"
        ".size strays, . - strays\n");

int main(int count, char **arguments) {
    (void)arguments;
    for (int i = 0; i < 10; i++) strays(i, count > 1 ? 5 : -1);
    puts("done");
    return 0;
}
