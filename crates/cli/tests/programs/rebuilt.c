/* Two builds of a program, one of which takes the place of the other. The first one makes the file `half` when it has done
 * half of its work, and does the other half when it was replaced, or after some minutes. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

volatile long sum;

#ifdef NEW
__attribute__((noinline)) static void second(int number) { sum += number % 3 ? 2 : -1; }
static int is_replaced(void) { return 1; }
#else
__attribute__((noinline)) static void first(int number) { sum += number % 5 ? 3 : 4; }
__attribute__((noinline)) static void second(int number) { first(number); if (number & 8) sum++; }
static int is_replaced(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    return strstr(path, " (deleted)") != 0;
}
#endif

int main(void)
{
    for (int number = 0; number < 30000; number++) second(number);
    close(open("half", O_CREAT | O_WRONLY, 0600));
    for (int i = 0; i < 60000 && !is_replaced(); i++) usleep(10000);
    for (int number = 0; number < 30000; number++) second(number);
    return 0;
}
