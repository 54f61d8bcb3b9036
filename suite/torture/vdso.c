/* The vDSO: through the C library and called directly, found by its own symbol table; and the old vsyscall
 * page where there is one. */
#include "torture.h"
#include <elf.h>
#include <link.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

static void *find(const char *name)
{
    const char *base = (const char *)getauxval(AT_SYSINFO_EHDR);
    if (!base) return 0;
    const ElfW(Ehdr) *header = (const void *)base;
    const ElfW(Phdr) *segments = (const void *)(base + header->e_phoff);
    const ElfW(Dyn) *dynamic = 0;
    const char *bias = 0;
    for (int i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && !bias) bias = base - segments[i].p_vaddr + segments[i].p_offset;
        if (segments[i].p_type == PT_DYNAMIC) dynamic = (const void *)(base + segments[i].p_offset);
    }
    const ElfW(Sym) *symbols = 0;
    const char *names = 0;
    for (; dynamic && dynamic->d_tag; dynamic++) {
        if (dynamic->d_tag == DT_SYMTAB) symbols = (const void *)(bias + dynamic->d_un.d_ptr);
        if (dynamic->d_tag == DT_STRTAB) names = bias + dynamic->d_un.d_ptr;
    }
    for (const ElfW(Sym) *s = symbols; s && (const char *)s < names; s++)
        if (!strcmp(names + s->st_name, name)) return (void *)(bias + s->st_value);
    return 0;
}

int main(void)
{
    int (*direct)(clockid_t, struct timespec *) = find("__vdso_clock_gettime");
    CHECK(direct || !getauxval(AT_SYSINFO_EHDR));
    struct timespec last = {0, 0}, now;
    for (int i = 0; i < 20000; i++) {
        CHECK(!clock_gettime(CLOCK_MONOTONIC, &now));
        CHECK(now.tv_sec > last.tv_sec || (now.tv_sec == last.tv_sec && now.tv_nsec >= last.tv_nsec));
        last = now;
        if (direct) CHECK(!direct(CLOCK_MONOTONIC, &now) && now.tv_sec >= last.tv_sec);
    }
    struct timespec kernel;
    CHECK(!syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &kernel) && kernel.tv_sec >= now.tv_sec);
    struct timeval day;
    CHECK(!gettimeofday(&day, 0) && labs(day.tv_sec - time(0)) <= 1);
    CHECK(sched_getcpu() >= 0);
    char line[200];
    FILE *maps = fopen("/proc/self/maps", "r");
    int old = 0;
    while (fgets(line, sizeof line, maps)) old |= strstr(line, "--xp") && strstr(line, "[vsyscall]");
    fclose(maps);
    if (old) {
        time_t (*oldest)(time_t *) = (time_t(*)(time_t *))0xffffffffff600400;
        for (int i = 0; i < 100; i++) CHECK(labs(oldest(0) - time(0)) <= 1);
    }
    return passed();
}
