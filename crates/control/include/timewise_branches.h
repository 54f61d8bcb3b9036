/* Switches branch tracing of the calling process on and off (docs/branches.md).
 *
 * While it is off nothing of it is in the process. While it is on, the command `timewise` is attached, found on the
 * path or by the environment variable TIMEWISE. Link with -ltimewise_control, or preload the library and look the
 * functions up. Both may be called from any thread, but not from a signal handler. */
#ifndef TIMEWISE_BRANCHES_H
#define TIMEWISE_BRANCHES_H

#ifdef __cplusplus
extern "C" {
#endif

/* Begins to trace all threads of the process: so many traces for each second of a thread's CPU time, each of so many
 * taken branches; 0 for the usual, 100 and 16. The profile will be written to `path`. Returns when tracing is on: 0, or
 * an error number: EALREADY if it is on, ENOENT if there is no timewise, EPERM if it cannot attach (it says why on
 * standard error). */
int timewise_branches_start(const char *path, unsigned traces_a_second, unsigned branches_a_trace);

/* Ends it. Returns when the process is as it was before and the profile is written: 0, or an error number: ESRCH if it
 * is not on, EIO if no profile was written (timewise says why on standard error). */
int timewise_branches_stop(void);

#ifdef __cplusplus
}
#endif

#endif
