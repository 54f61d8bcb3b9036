/* A block of more instructions than are translated in one go, which one way to it makes begin elsewhere than the other. */
#define ADD(number) __asm__ volatile("addl $" #number ", %0" : "+r"(sum))
#define FIVE ADD(1); ADD(2); ADD(3); ADD(4); ADD(5);
#define FIFTY FIVE FIVE FIVE FIVE FIVE FIVE FIVE FIVE FIVE FIVE

__attribute__((noinline)) static int work(int value) {
    int sum = value;
    if (value & 1)
        ADD(3);
    else
        ADD(5);
    FIFTY FIFTY FIFTY FIFTY FIFTY
    if (value & 2)
        ADD(9);
    if (value & 4)
        ADD(11);
    return sum;
}

int main(void) {
    int sum = 0;
    for (int i = 0; i < 800; i++)
        sum += work(i);
    return sum == 1 ? 3 : 0;
}
