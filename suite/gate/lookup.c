// Looks words up in a table of 16 KiB that stays in the first cache. PLANTED also keeps a log of every look-up in a
// megabyte, which drives the table out.

#include <stdint.h>
#include <stdio.h>

enum { TABLE = 1 << 12, LOG = 1 << 14, LINE = 16 };

static uint32_t table[TABLE];
static volatile uint32_t log_of[LOG][LINE];

__attribute__((noipa)) static uint32_t lookup(uint32_t word, long times) {
    for (long at = 0; at < times; at++) {
        word = table[(word ^ at * 2654435761u) % TABLE];
#ifdef PLANTED
        log_of[at % LOG][0] = word;
#endif
    }
    return word;
}

int main(void) {
    for (uint32_t at = 0; at < TABLE; at++) {
        table[at] = at * 2246822519u >> 7;
    }
    printf("%u\n", lookup(1, 100000));
    return 0;
}
