/* Threads that jump out of handlers, to behind a call in which others of them are meanwhile, called from the same places.
 *
 * build: -pthread
 * total: work 800000
 * total: save 448000
 * total: once 1600000
 * call: once save 448000
 * call: rounds once 1600000 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include "totals.h"

enum { THREADS = 8, ROUNDS = 4000 };

void once(void **there), leap(void **there);

WORK(work);
/* 3 and 2: getpid */
FUNCTION(enter, "mov $39, %eax; syscall; ret\n");
FUNCTION(pass, "call enter; ret\n");
/* 9, and 5 in what it calls */
FUNCTION(save, "mov (%rsp), %rax; mov %rax, (%rdi); lea 8(%rsp), %rax; mov %rax, 8(%rdi)\n"
         "mov %rbp, 16(%rdi); mov %rbx, 24(%rdi); call pass; xor %eax, %eax; ret\n");
FUNCTION(leap, "mov 8(%rdi), %rsp; mov 16(%rdi), %rbp; mov 24(%rdi), %rbx; mov (%rdi), %rdx; mov $1, %eax; jmp *%rdx\n");
/* 11: what faults does not count */
FUNCTION(once, ENTER "call save; test %eax, %eax; jnz 1f; movl $0, 0\n 1: mov $10, %edi; call work\n" LEAVE);

static __thread void *there[4];

static void jump(int signal)
{
    (void)signal;
    leap(there);
}

void *rounds(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) once(there);
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    struct sigaction action = { .sa_handler = jump, .sa_flags = SA_NODEFER };
    sigaction(SIGSEGV, &action, NULL);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, rounds, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}
