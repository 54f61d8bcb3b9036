/* Two builds of a program, one of which takes the place of the other. */
#include <stdio.h>
#include <unistd.h>

volatile long sum;

#ifdef NEW
__attribute__((noinline)) static void second(int number) { sum += number % 3 ? 2 : -1; }
#else
__attribute__((noinline)) static void first(int number) { sum += number % 5 ? 3 : 4; }
__attribute__((noinline)) static void second(int number) { first(number); if (number & 8) sum++; }
#endif

int main(void)
{
    for (int number = 0; number < 30000; number++) second(number);
    usleep(1500000);
    for (int number = 0; number < 30000; number++) second(number);
    return 0;
}
