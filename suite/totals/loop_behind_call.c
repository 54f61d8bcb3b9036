/* A loop begins where a call returns to. The function that is called returned there before, to an address that was
 * pushed, and the loop was executed. leaf: 1 + 10 * 2 + 1.
 *
 * call: outer leaf 2178 */
#include "totals.h"
FUNCTION(leaf, "mov $10, %ecx\n 2: dec %ecx; jnz 2b; ret\n");
FUNCTION(outer, "mov $100, %esi; lea 1f(%rip), %rax; push %rax; mov $3, %edx; jmp leaf\n"
                "0: mov $5, %edx; call leaf\n"
                "1: dec %edx; jnz 1b; dec %esi; jnz 0b; ret\n");
void outer(void);
int main(void) { outer(); return 0; }
