/* A coroutine that threads go on with in turns, each from where another left it, in the midst of recursion; one of
 * them ends when it has left it. Its calls cost what they execute on all threads.
 *
 * total: body 66530
 * total: down 65931
 * total: work 44775
 * total: switch_to 6000
 * total: turn 3800
 * call: body down 65931
 * call: down work 44775
 * call: down switch_to 3000
 * call: turn switch_to 3000
 *
 * build: -pthread
 */
#include <pthread.h>
#include <semaphore.h>
#include "switch.h"

void body(void);
void turn(void);

WORK(work);
/* 10 in each activation and 11 in the innermost, which leaves the coroutine: of the last of 200, 5 and 7 */
FUNCTION(down, ENTER "dec %edi; jz 2f; call down; jmp 3f\n"
         "2: lea coroutine_stack(%rip), %rdi; mov main_stack(%rip), %rsi; call switch_to\n"
         "3: mov $10, %edi; call work\n" LEAVE);
/* 3 in each round but the last */
FUNCTION(body, ".cfi_undefined rip; 1: mov $9, %edi; call down; jmp 1b\n");
/* 4 in each of 200 */
FUNCTION(turn, "lea main_stack(%rip), %rdi; mov coroutine_stack(%rip), %rsi; call switch_to; ret\n");

static sem_t turns[2];

static void *other(void *unused)
{
    for (int i = 0; i < 50; i++) {
        sem_wait(&turns[1]);
        turn();
        sem_post(&turns[0]);
    }
    return unused;
}

int main(void)
{
    static void *memory[4096] __attribute__((aligned(16)));
    begin_on(memory + 4000, body);
    pthread_t thread;
    sem_init(&turns[0], 0, 0);
    sem_init(&turns[1], 0, 0);
    pthread_create(&thread, 0, other, 0);
    for (int i = 0; i < 50; i++) {
        turn();
        sem_post(&turns[1]);
        sem_wait(&turns[0]);
    }
    pthread_join(thread, 0);
    for (int i = 0; i < 100; i++) turn();
}
