/* longjmp of the C library out of nested calls, in a loop.
 *
 * total: work 11000
 * call: hops work 4250
 * call: first work 1250
 * call: middle work 2250
 * call: inner work 3250 */
#include "totals.h"
#include <setjmp.h>

static jmp_buf there;

WORK(work);
__attribute__((noinline, noclone)) static void inner(int value) { work(30); longjmp(there, value); }
__attribute__((noinline, noclone)) static void middle(int value) { work(20); inner(value); }
__attribute__((noinline, noclone)) static void first(int value) { work(10); middle(value); }
__attribute__((noinline, noclone)) static void hops(void)
{
    for (volatile int i = 0; i < 50; i++) {
        if (!setjmp(there)) first(i + 1);
        work(40);
    }
}

int main(void) { hops(); return 0; }
