/* Tail calls: first goes on to second, and that to work, by jumps. What they cost belongs to the call of first.
 *
 * total: outer 11400
 * total: first 200
 * total: second 200
 * total: work 10500
 * call: outer first 10900
 * call: main outer 11400 */
#include "totals.h"

void outer(void);

WORK(work);
FUNCTION(second, "mov $50, %edi; jmp work\n");
FUNCTION(first, "nop; jmp second\n");
FUNCTION(outer, ENTER "call first\n" LEAVE);

int main(void)
{
    for (int i = 0; i < 100; i++) outer();
}
