/* A process that forks within calls, which both the parent and the child return from: each is charged what it
 * executed itself.
 *
 * total: work 2052
 * call: first work 2030
 * call: outer work 22 */
#include "totals.h"
#include <sys/wait.h>
#include <unistd.h>

WORK(work);
__attribute__((noinline, noclone)) static int first(void)
{
    int child = fork();
    work(child ? 10 : 1000);
    return child;
}
__attribute__((noinline, noclone)) static int outer(void)
{
    int child = first();
    work(3);
    return child;
}

int main(void)
{
    int child = outer();
    return child < 0 || (child && wait(0) != child);
}
