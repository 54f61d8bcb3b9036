/* A function that returns to 300000 places, more than one table of indirect branches takes, and to each once more.
 *
 * total: all 1800012
 * total: leaf 1200000
 * call: main all 1800012
 * call: all leaf 1200000 */
#include "totals.h"

void all(void);

FUNCTION(leaf, "nop; ret\n");
/* 6, and 1 for each call. */
FUNCTION(all, ENTER ".rept 300000; call leaf; .endr; nop; nop\n" LEAVE);

int main(void)
{
    for (int i = 0; i < 2; i++) all();
}
