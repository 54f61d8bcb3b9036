/* Loads and unloads two shared objects again and again (dlopen/dlsym/dlclose):
 * code appears, goes, and comes back at maybe the same address with other
 * contents.  args: directory of the plugins, rounds */
#include "kernel.h"
#include <dlfcn.h>
int main(int argc, char **argv)
{
    const char *dir = argc > 1 ? argv[1] : "bin"; long rounds = arg(argc, argv, 2, 200);
    uint64_t h = 1;
    for (long k = 0; k < rounds; k++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/plugin_%c.so", dir, k & 1 ? 'b' : 'a');
        void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!so) { fprintf(stderr, "%s\n", dlerror()); return 1; }
        uint64_t (*fn)(uint64_t, long) = (uint64_t (*)(uint64_t, long))dlsym(so, "plugin_run");
        if (!fn) { fprintf(stderr, "%s\n", dlerror()); return 1; }
        h = fn(h, 500000);
        dlclose(so);
    }
    printf("plugins %016lx\n", (unsigned long)h);
    return 0;
}
