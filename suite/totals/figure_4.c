/* Figure 4 of the OptiWISE paper: three loops that share a function. loop0 of func0 calls func1, loop1 of func1 and
 * loop2 of func2 call func3, whose cost depends on who calls; func4 calls func1 as well. Of func3's 4600 calls 78 %
 * come from loop1, and 62.5 % of its time from loop2.
 *
 * It does all that in ten turns, so that a machine that becomes faster or slower meanwhile does so for all of them.
 *
 * total: func0 600028070
 * total: func1 720033240
 * total: func2 1200009070
 * total: func3 1920023000
 * total: func4 120005600
 * loop: func0 600028000
 * loop: func1 720032400
 * loop: func2 1200009000
 * loop: func3 1920000000
 * call: func0 func1 600027700
 * call: func4 func1 120005540
 * call: func1 func3 720018000
 * call: func2 func3 1200005000 */
#include "totals.h"

void func0(void), func2(void), func4(void);

WORK(func3);
/* 127 and 30 calls of 200,005. */
FUNCTION(func1, ENTER_COUNTING(30) "1: mov $100000, %edi; call func3; dec %ebx; jnz 1b\n" LEAVE_COUNTING);
/* 407 and 100 calls of 1,200,005. */
FUNCTION(func2, ENTER_COUNTING(100) "1: mov $600000, %edi; call func3; dec %ebx; jnz 1b\n" LEAVE_COUNTING);
/* 37 and 10 calls of 6,000,277. */
FUNCTION(func0, ENTER_COUNTING(10) "1: call func1; dec %ebx; jnz 1b\n" LEAVE_COUNTING);
/* 6 and 2. */
FUNCTION(func4, ENTER "call func1; call func1\n" LEAVE);

int main(void)
{
    for (int turn = 0; turn < 10; turn++) {
        func0();
        func2();
        func4();
    }
}
