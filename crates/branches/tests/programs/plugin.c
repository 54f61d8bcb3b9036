/* Code of two kinds at the same offsets: compiled with -DODD its branches lie elsewhere. */
unsigned long run(unsigned long seed, unsigned rounds)
{
    unsigned long hash = seed;
    for (unsigned i = 0; i < rounds; i++) {
#ifdef ODD
        __asm__ volatile("nop; nop; nop");
        if (hash & 16)
            hash = hash * 5 + i;
        else
            hash ^= hash >> 7;
#endif
        hash = hash * 6364136223846793005ul + 1442695040888963407ul;
        if (hash >> 63)
            hash ^= i;
    }
    return hash;
}
