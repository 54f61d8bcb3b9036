// Looks up what is preloaded, as docs/branches.md says, and is part of what is preloaded.
#define _GNU_SOURCE
#include <dlfcn.h>

__attribute__((constructor)) static void begin(void) {
    int (*start)(const char *, unsigned, unsigned) = dlsym(RTLD_DEFAULT, "timewise_branches_start");
    if (start) start("branches.tw", 1000, 100);
}

__attribute__((destructor)) static void end(void) {
    int (*stop)(void) = dlsym(RTLD_DEFAULT, "timewise_branches_stop");
    if (stop) stop();
}
