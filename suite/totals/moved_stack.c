/* A coroutine whose stack is copied elsewhere each time that it has left it: it goes on there.
 *
 * total: body 61139
 * total: down 60540
 * total: work 44775
 * total: switch_to 6000
 * call: body down 60540
 * call: down work 44775
 * call: down switch_to 3000 */
#include <stdint.h>
#include <string.h>
#include "switch.h"

void body(void);
void turn(void);

WORK(work);
/* 7 in each activation and 8 in the innermost, which leaves the coroutine: of the last of 200, 3 and 5 */
FUNCTION(down, "dec %edi; jz 2f; call down; jmp 3f\n"
         "2: lea coroutine_stack(%rip), %rdi; mov main_stack(%rip), %rsi; call switch_to\n"
         "3: mov $10, %edi; call work; ret\n");
/* 3 in each round but the last */
FUNCTION(body, ".cfi_undefined rip; 1: mov $9, %edi; call down; jmp 1b\n");
FUNCTION(turn, "lea main_stack(%rip), %rdi; mov coroutine_stack(%rip), %rsi; call switch_to; ret\n");

int main(void)
{
    enum { SIZE = 1 << 16 };
    static char memory[2][SIZE] __attribute__((aligned(16)));
    begin_on((void **)(memory[0] + SIZE - 768), body);
    for (int i = 0; i < 200; i++) {
        turn();
        int from = (char *)coroutine_stack >= memory[1];
        memcpy(memory[!from], memory[from], SIZE);
        memset(memory[from], 0, SIZE);
        coroutine_stack = memory[!from] + ((char *)coroutine_stack - memory[from]);
    }
}
