/* Switches branch tracing of the calling process on and off. docs/branches.md, "From within a program", says how to build
 * and link the library, and what the program may notice.
 *
 * While it is off nothing of it is in the process. While it is on, the command `timewise` is attached: the executable
 * that the environment variable TIMEWISE names, or else the first on the path. Both functions may be called from any
 * thread, but not from a signal handler, nor between vfork and execve. They change neither errno nor the thread's signal
 * mask, leave no child to be waited for, and are no points of cancellation. */
#ifndef TIMEWISE_BRANCHES_H
#define TIMEWISE_BRANCHES_H

#ifdef __cplusplus
extern "C" {
#endif

/* Begins to trace all threads of the process: so many traces for each second of a thread's CPU time, each of so many
 * taken branches; 0 for the usual, 100 and 16. The profile will be written to `path`, from the working directory of now if
 * that is relative. Returns when tracing is on: 0, or an error number: EALREADY if it is on, EFAULT if there is no path,
 * EINVAL if there are to be over 50,000 traces a second or 16,380 branches in each, ENOENT if there is no timewise that
 * may be executed, EPERM if it cannot attach (it says why on standard error), or what the system says if there cannot be
 * another process or descriptor (EAGAIN, EMFILE and others).
 *
 * A process that was forked from one that is traced is not traced, and may begin for itself. */
int timewise_branches_start(const char *path, unsigned traces_a_second, unsigned branches_a_trace);

/* Ends it. Returns when the process is as it was before and the profile is written: 0, or an error number: ESRCH if this
 * process has not switched it on, as one that was forked from one that has, EIO if no profile was written (timewise says why
 * on standard error). */
int timewise_branches_stop(void);

#ifdef __cplusplus
}
#endif

#endif
