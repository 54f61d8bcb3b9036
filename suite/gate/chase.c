// Follows links through a small table. PLANTED puts a handle between link and node: one more load that the next step
// waits for.

#include <stdio.h>

enum { NODES = 256 };

struct node {
    struct node *next;
    struct node **handle;
};

static struct node nodes[NODES];
static struct node *handles[NODES];

__attribute__((noipa)) static struct node *chase(struct node *node, long steps) {
    for (; steps > 0; steps--) {
#ifdef PLANTED
        node = *node->handle;
#else
        node = node->next;
#endif
    }
    return node;
}

int main(void) {
    for (int at = 0; at < NODES; at++) {
        int next = (at * 5 + 3) % NODES;
        handles[at] = &nodes[next];
        nodes[at].handle = &handles[at];
        nodes[at].next = &nodes[next];
    }
    printf("%td\n", chase(nodes, 100000) - nodes);
    return 0;
}
