/* A tight loop and a sort in turns, with another thread that does nothing, or "alone" (1). */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NUMBERS = 256 };

static unsigned char bytes[4096];
static unsigned numbers[NUMBERS];

__attribute__((noinline)) unsigned long tight(const unsigned char *from, long rounds)
{
    unsigned long sum = 0;
    for (long i = 0; i < rounds; i++) {
        sum += from[i & 4095];
        /* All calls are made, and the loop is done as it stands. */
        __asm__ volatile("" : "+r"(sum));
    }
    return sum;
}

__attribute__((noinline)) unsigned long sort(unsigned long seed)
{
    for (int i = 0; i < NUMBERS; i++) {
        seed = seed * 6364136223846793005 + 1;
        numbers[i] = seed >> 40;
    }
    for (int gap = NUMBERS / 4; gap > 0; gap /= 3)
        for (int i = gap; i < NUMBERS; i++) {
            unsigned number = numbers[i];
            int j = i;
            for (; j >= gap && numbers[j - gap] > number; j -= gap)
                numbers[j] = numbers[j - gap];
            numbers[j] = number;
        }
    return numbers[seed % NUMBERS];
}

static void *idle(void *unused)
{
    (void)unused;
    pause();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 2 || strcmp(argv[1], "alone"))
        pthread_create(&thread, NULL, idle, NULL);
    unsigned long sum = 0;
    for (int i = 0; i < 100; i++) {
        sum += tight(bytes, 10000000);
        for (int j = 0; j < 500; j++)
            sum += sort(i + j);
    }
    printf("%lu\n", sum);
    return 0;
}
