/* Tile registers (AMX): what they hold lasts through calls, system calls and signals, also of handlers on a stack of
 * their own; frames of signals are as large as they need. Only where processor and kernel have them. */
#include "torture.h"
#include <immintrin.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>

enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18, ROWS = 16, ROW_BYTES = 64 };

struct configuration {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

static int8_t left[ROWS][ROW_BYTES], right[ROWS][ROW_BYTES];
static int32_t product[ROWS][ROWS];
static volatile sig_atomic_t ticks;

static void handler(int signal)
{
    (void)signal;
    ticks++;
    churn(ticks, 20);
}

__attribute__((noinline)) static long elsewhere(long rounds)
{
    return rounds % 64 ? (long)churn(rounds, 30) : getppid();
}

/* The rounds that it took until enough signals had come: so often was the product added. */
__attribute__((target("amx-tile,amx-int8"))) static long multiply(void)
{
    struct configuration wanted = {.palette = 1}, had;
    for (int i = 0; i < 3; i++) {
        wanted.rows[i] = ROWS;
        wanted.row_bytes[i] = ROW_BYTES;
    }
    _tile_loadconfig(&wanted);
    _tile_zero(0);
    _tile_loadd(1, left, ROW_BYTES);
    _tile_loadd(2, right, ROW_BYTES);
    long rounds = 0;
    while (ticks < 200) {
        _tile_dpbssd(0, 1, 2);
        elsewhere(++rounds);
    }
    _tile_storeconfig(&had);
    CHECK(!memcmp(&had, &wanted, sizeof had));
    _tile_stored(0, product, ROW_BYTES);
    _tile_release();
    return rounds;
}

int main(void)
{
    if (syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA)) return skipped("no tile registers");
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROW_BYTES; j++) {
            left[i][j] = (i + j) % 7 - 3;
            right[i][j] = (i * j) % 5 - 2;
        }
    struct itimerval every = {{0, 1000}, {0, 1000}};
    static char stack[1 << 16];
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    CHECK(!sigaltstack(&own, 0));
    for (int flags = 0; flags <= SA_ONSTACK; flags += SA_ONSTACK) {
        struct sigaction action = {.sa_handler = handler, .sa_flags = flags | SA_RESTART};
        CHECK(!sigaction(SIGALRM, &action, 0) && !setitimer(ITIMER_REAL, &every, 0));
        ticks = 0;
        uint32_t rounds = multiply();
        CHECK(!setitimer(ITIMER_REAL, &(struct itimerval){0}, 0));
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < ROWS; j++) {
                uint32_t sum = 0;
                for (int k = 0; k < ROW_BYTES; k++) sum += left[i][k] * right[k / 4][j * 4 + k % 4];
                CHECK((uint32_t)product[i][j] == sum * rounds);
            }
    }
    return passed();
}
