/* Libraries loaded and unloaded again and again, so that different ones come to the same addresses; functions
 * looked up by name, in a namespace of their own too; what runs at loading and at unloading.
 * build: -ldl */
#include "torture.h"
#include <dlfcn.h>

static const char *const names[] = {"libm.so.6", "libz.so.1", "libcrypt.so.1", "libanl.so.1", "libutil.so.1", "libresolv.so.2"};

int main(void)
{
    int loaded = 0;
    for (int i = 0; i < 300; i++) {
        void *library = dlopen(names[i % 6], i % 3 ? RTLD_NOW : RTLD_LAZY);
        if (!library) continue;
        loaded++;
        if (i % 6 == 0) {
            double (*cosine)(double) = (double (*)(double))dlsym(library, "cos");
            CHECK(cosine && cosine(0) == 1);
        }
        CHECK(!dlsym(library, "no_such_function") && dlerror());
        CHECK(!dlclose(library));
    }
    CHECK(loaded >= 50);
    for (int i = 0; i < 5; i++) {
        void *library = dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);
        CHECK(library);
        double (*root)(double) = (double (*)(double))dlsym(library, "sqrt");
        CHECK(root && root(81) == 9 && !dlclose(library));
    }
    CHECK(!dlopen("/no/such/library.so", RTLD_NOW) && dlerror());
    return passed();
}
