// A child that ends long before its parent.
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    pid_t child = fork();
    if (!child)
        _exit(0);
    waitpid(child, NULL, 0);
    sleep(2);
    return 0;
}
