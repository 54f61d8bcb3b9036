/* A static program that relocates itself: no dynamic loader, a random address, threads all the same.
 * build: -static-pie -pthread */
#include "torture.h"
#include <pthread.h>

static const char *const names[] = {"one", "two", "three"};
static int (*const compare)(const char *, const char *) = strcmp;
static void *body(void *name) { return (void *)(intptr_t)(compare(name, "two") == 0); }

int main(void)
{
    for (int i = 0; i < 30; i++) {
        pthread_t thread;
        void *same;
        CHECK(!pthread_create(&thread, 0, body, (void *)names[i % 3]) && !pthread_join(thread, &same));
        CHECK((intptr_t)same == (i % 3 == 1));
    }
    return passed();
}
