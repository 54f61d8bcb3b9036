// Walks through a table of 2 MiB in an order that nobody can guess: every step waits for a load that misses
// the first cache. Ends with status 7. With IN_ORDER the order is that of the table.

#include <stdint.h>
#include <stdlib.h>

#ifdef IN_ORDER
#define NEXT(at) ((at) + 1)
#else
// A linear congruence of full period: one round through all nodes.
#define NEXT(at) ((at) * 21821u + 12345u)
#endif

enum { NODES = 32768, STEPS = 20000 };

struct node {
    struct node *next;
    uint64_t rest[7];
};

static struct node nodes[NODES];

__attribute__((noipa)) static struct node *walk(struct node *node, long steps) {
    for (; steps > 0; steps--) {
        node = node->next;
    }
    return node;
}

int main(void) {
    for (uint32_t at = 0; at < NODES; at++) {
        nodes[at].next = &nodes[NEXT(at) % NODES];
    }
    return walk(nodes, STEPS) ? 7 : 1;
}
