// Walks through a table of 2 MiB in an order that nobody can guess: every step waits for a load that misses
// the first cache. Ends with status 7.

#include <stdint.h>
#include <stdlib.h>

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
    // A linear congruence of full period: one round through all nodes.
    for (uint32_t at = 0; at < NODES; at++) {
        nodes[at].next = &nodes[(at * 21821u + 12345u) % NODES];
    }
    return walk(nodes, STEPS) ? 7 : 1;
}
