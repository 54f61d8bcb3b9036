// Linked as docs/branches.md says.
#include <timewise_branches.h>

int main(void) {
    if (timewise_branches_start("branches.tw", 1000, 100)) return 1;
    for (volatile int i = 0; i < 200000000; i++) {}
    return timewise_branches_stop();
}
