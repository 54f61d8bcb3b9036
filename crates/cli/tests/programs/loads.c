/* Loads each plugin that is named, calls it, and unloads it again; so many times: each may come to where another was. */
#include <dlfcn.h>
#include <stdlib.h>

int main(int count, char **words)
{
    for (int round = 0; round < atoi(words[1]); round++) {
        for (int i = 2; i < count; i++) {
            void *plugin = dlopen(words[i], RTLD_NOW);
            int (*run)(int) = plugin ? (int (*)(int))dlsym(plugin, "run") : 0;
            if (!run || run(9) == 0 || dlclose(plugin)) return 1;
        }
    }
    return 0;
}
