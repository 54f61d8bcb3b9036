/* A program under the address sanitiser, which reserves terabytes at fixed places, intercepts the C library,
 * walks stacks and reads the memory map.
 * build: -fsanitize=address -fno-omit-frame-pointer
 * case: clean exit 0
 * case: overflow exit 1 */
#include "torture.h"
#include <setjmp.h>

__attribute__((noinline)) static int touch(volatile char *at, long index) { return at[index]; }

const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "log_path=/dev/null:exitcode=1:detect_leaks=0"; }

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    char *blocks[100];
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 100; i++) memset(blocks[i] = malloc(i * 20 + 1), i, i * 20 + 1);
        for (int i = 0; i < 100; i++) {
            CHECK(touch(blocks[i], i * 20) == i);
            free(blocks[i]);
        }
    }
    if (!strcmp(argv[1], "overflow")) {
        char *block = calloc(10, 1);
        say(1, "overflows\n");
        return touch(block, 10);
    }
    return passed();
}
