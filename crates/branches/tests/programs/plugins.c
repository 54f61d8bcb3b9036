/* Maps two objects in turn, by and by at the same place, and runs some microseconds in each.
 * Arguments: both objects. Says whether they lay at the same place. */
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    unsigned long hash = 1, same = 0;
    void *before = 0;
    for (int round = 0; round < 1000; round++) {
        void *object = dlopen(argv[1 + round % 2], RTLD_NOW);
        if (!object)
            return 2;
        unsigned long (*run)(unsigned long, unsigned) = (unsigned long (*)(unsigned long, unsigned))dlsym(object, "run");
        same += (void *)run == before;
        before = (void *)run;
        hash = run(hash, 100000);
        dlclose(object);
    }
    printf("%d %lu\n", same > 500, hash & 1);
    return argc != 3;
}
