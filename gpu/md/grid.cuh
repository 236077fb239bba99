// What the blocks of a launch do together: a barrier that also counts votes.

DEVICE void arrive(unsigned *word, unsigned add) {
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" :: "l"(word), "r"(add) : "memory");
}
DEVICE unsigned look(const unsigned *word) {
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

// A word of the barrier: how many blocks have come, how many want new lists, how many have found the state broken.
#define COME 1u
#define RENEW (1u << 11)
#define BROKEN (1u << 22)
#define COUNT(word) ((word) & (RENEW - 1))
#define WORDS 4
#define WORD_STRIDE 32

// Waits for all blocks and returns all votes. `turn` counts the barriers of all launches. The word of the turn after the
// next is cleared here: the blocks that read it two turns ago have all come to the last one since.
DEVICE unsigned everyone(unsigned *words, unsigned &turn, unsigned *vote) {
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned *word = words + turn % WORDS * WORD_STRIDE;
        if (blockIdx.x == 0) words[(turn + 2) % WORDS * WORD_STRIDE] = 0;
        arrive(word, COME | (*vote & 1 ? RENEW : 0) | (*vote & 2 ? BROKEN : 0));
        unsigned seen;
        do seen = look(word);
        while (COUNT(seen) != GRID);
        *vote = 0;
        vote[1] = seen;
    }
    __syncthreads();
    ++turn;
    return vote[1];
}
