/* posix_spawn with file actions and attributes, of a program, of none, and of a script. */
#include "torture.h"
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
extern char **environ;

int main(void)
{
    int pipes[2];
    pid_t pid;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    CHECK(!pipe(pipes));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
    posix_spawn_file_actions_addclose(&actions, pipes[0]);
    posix_spawnattr_init(&attributes);
    sigfillset(&defaults);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    for (int i = 0; i < 10; i++) {
        char *argv[] = {"sh", "-c", "echo spawned; exit 9", 0}, text[16] = "";
        CHECK(!posix_spawnp(&pid, "sh", &actions, &attributes, argv, environ));
        CHECK(read(pipes[0], text, 8) == 8 && !strcmp(text, "spawned\n"));
        CHECK(ended(pid) == 9);
        CHECK(posix_spawn(&pid, "/no/such/program", &actions, &attributes, argv, environ) == ENOENT);
    }
    char script[] = "/tmp/timewise-script-XXXXXX";
    int fd = mkstemp(script);
    CHECK(fd >= 0 && write(fd, "#!/bin/sh\nexit 21\n", 18) == 18 && !fchmod(fd, 0700));
    close(fd);
    char *argv[] = {script, 0};
    CHECK(!posix_spawn(&pid, script, 0, 0, argv, environ));
    CHECK(ended(pid) == 21);
    unlink(script);
    return passed();
}
