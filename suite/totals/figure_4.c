/* Figure 4 of the OptiWISE paper: three loops that share a function. loop0 of func0 calls func1, loop1 of func1 and
 * loop2 of func2 call func3, whose cost depends on who calls; func4 calls func1 as well. Of func3's 460 calls 78 %
 * come from loop1, and 62.5 % of its time from loop2.
 *
 * total: func0 600002807
 * total: func1 720003324
 * total: func2 1200000907
 * total: func3 1920002300
 * total: func4 120000560
 * loop: func0 600002800
 * loop: func1 720003240
 * loop: func2 1200000900
 * loop: func3 1920000000
 * call: func0 func1 600002770
 * call: func4 func1 120000554
 * call: func1 func3 720001800
 * call: func2 func3 1200000500 */
#include "totals.h"

void func0(void), func2(void), func4(void);

WORK(func3);
/* 127 and 30 calls of 2,000,005. */
FUNCTION(func1, ENTER_COUNTING(30) "1: mov $1000000, %edi; call func3; dec %ebx; jnz 1b\n" LEAVE_COUNTING);
/* 407 and 100 calls of 12,000,005. */
FUNCTION(func2, ENTER_COUNTING(100) "1: mov $6000000, %edi; call func3; dec %ebx; jnz 1b\n" LEAVE_COUNTING);
/* 37 and 10 calls of 60,000,277. */
FUNCTION(func0, ENTER_COUNTING(10) "1: call func1; dec %ebx; jnz 1b\n" LEAVE_COUNTING);
/* 6 and 2. */
FUNCTION(func4, ENTER "call func1; call func1\n" LEAVE);

int main(void)
{
    func0();
    func2();
    func4();
}
