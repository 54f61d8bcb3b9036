/* Minimum-cost flow by successive shortest paths (queue-based Bellman-Ford) on
 * linked arc lists scattered in memory: role of 429/505.mcf (pointer chasing,
 * data-dependent branches).  args: nodes, arcs per node, flow units */
#include "kernel.h"
struct arc { struct arc *next, *rev; struct node *to; int cap, cost; };
struct node { struct arc *out, *via; struct node *qnext; long dist; int queued; };

static struct arc **pool; static long used;
static struct arc *add(struct node *a, struct node *b, int cap, int cost)
{
    struct arc *x = pool[used++], *y = pool[used++];
    *x = (struct arc){a->out, y, b, cap, cost}; a->out = x;
    *y = (struct arc){b->out, x, a, 0, -cost};  b->out = y;
    return x;
}
static int shortest(struct node *v, long n, struct node *s, struct node *t)
{
    for (long i = 0; i < n; i++) { v[i].dist = 1L << 40; v[i].queued = 0; v[i].via = 0; }
    struct node *head = s, *tail = s;
    s->dist = 0; s->queued = 1; s->qnext = 0;
    while (head) {
        struct node *u = head;
        head = u->qnext; u->queued = 0;
        for (struct arc *a = u->out; a; a = a->next) {
            if (a->cap <= 0) continue;
            long d = u->dist + a->cost;
            if (d < a->to->dist) {
                a->to->dist = d; a->to->via = a;
                if (!a->to->queued) {
                    a->to->queued = 1; a->to->qnext = 0;
                    if (head) tail->qnext = a->to; else head = a->to;
                    tail = a->to;
                }
            }
        }
    }
    return t->via != 0;
}
int main(int argc, char **argv)
{
    long n = arg(argc, argv, 1, 20000), deg = arg(argc, argv, 2, 6), want = arg(argc, argv, 3, 12);
    long arcs = n * deg + n, i;
    struct node *v = calloc(n, sizeof *v);
    struct arc *mem = must_alloc(2 * arcs * sizeof *mem);
    pool = must_alloc(2 * arcs * sizeof *pool);
    for (i = 0; i < 2 * arcs; i++) pool[i] = mem + i;
    for (i = 2 * arcs - 1; i > 0; i--) {                 /* scatter the arcs */
        long j = rng() % (i + 1); struct arc *t = pool[i]; pool[i] = pool[j]; pool[j] = t;
    }
    for (i = 0; i + 1 < n; i++) add(v + i, v + i + 1, 1 + rng() % 4, 50 + rng() % 50);
    for (i = 0; i < n * deg; i++) add(v + rng() % n, v + rng() % n, 1 + rng() % 4, 1 + rng() % 100);
    long flow = 0, cost = 0;
    while (flow < want && shortest(v, n, v, v + n - 1)) {
        int f = want - flow;
        for (struct node *u = v + n - 1; u != v; u = u->via->rev->to) if (u->via->cap < f) f = u->via->cap;
        for (struct node *u = v + n - 1; u != v; u = u->via->rev->to) { u->via->cap -= f; u->via->rev->cap += f; }
        flow += f; cost += f * v[n - 1].dist;
    }
    printf("mcf flow %ld cost %ld\n", flow, cost);
    return 0;
}
