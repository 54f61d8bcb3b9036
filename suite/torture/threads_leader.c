/* The first thread ends before the others; the process ends with the last one's exit status.
 * build: -pthread
 * ends: exit 7 */
#include "torture.h"
#include <pthread.h>

static pthread_t leader;

static void *last(void *unused)
{
    (void)unused;
    CHECK(!pthread_join(leader, 0));
    CHECK(churn(5, 100000) == churn(5, 100000));
    passed();
    exit(7);
}

int main(void)
{
    pthread_t thread;
    leader = pthread_self();
    CHECK(!pthread_create(&thread, 0, last, 0));
    pthread_exit(0);
}
