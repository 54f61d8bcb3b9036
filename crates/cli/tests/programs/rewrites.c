/* Writes a function again and again, and executes it each time; with an argument where no descriptor is left. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int main(int count, char **arguments)
{
    (void)arguments;
    while (count > 1 && open("/", O_RDONLY) >= 0);
    unsigned char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int sum = 0;
    for (int n = 0; n < 50; n++) {
        memcpy(code, (unsigned char[]) {0xb8, n, 0, 0, 0, 0xc3}, 6); /* mov eax, n; ret */
        sum += ((int (*)(void))code)();
    }
    printf("%d\n", sum);
    return 0;
}
