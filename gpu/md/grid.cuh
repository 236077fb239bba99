// What the blocks of a launch do together: a barrier that also counts votes.

// A word of the barrier: how many blocks have come, how many want new lists, how many have found the state broken.
#define COME 1u
#define RENEW (1u << 11)
#define BROKEN (1u << 22)
#define COUNT(word) ((word) & (RENEW - 1))
#define WANTED(word) (COUNT((word) / RENEW) != 0)
// The vote of a block, as a bit in its shared memory.
#define WANTS 1u
#define BREAKS 2u
#define WORDS 4
#define WORD_STRIDE 32

#if CLUSTER
// One cluster: its barrier is in hardware, and votes go from shared memory to shared memory.
DEVICE void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}
// Writes to the place in block `to` that `at` is in this block.
DEVICE void tell(unsigned *at, unsigned to, unsigned value) {
    asm volatile("{.reg .u32 there; mapa.shared::cluster.u32 there, %0, %1; st.shared::cluster.u32 [there], %2;}"
                 :: "r"((unsigned)__cvta_generic_to_shared(at)), "r"(to), "r"(value) : "memory");
}
DEVICE unsigned everyone(unsigned *, unsigned &turn, unsigned *vote) {
    __syncthreads();
    unsigned *all = vote + 2 + turn % 2 * GRID;
    if (threadIdx.x < 32) {
        const unsigned mine = *vote;
        __syncwarp();
        if (threadIdx.x == 0) *vote = 0;
        if (threadIdx.x < GRID) tell(all + blockIdx.x, threadIdx.x, mine);
    }
    cluster_barrier();
    unsigned seen = 0;
    for (int block = 0; block < GRID; ++block) seen += (all[block] & WANTS ? RENEW : 0) + (all[block] & BREAKS ? BROKEN : 0);
    ++turn;
    return seen;
}
#else
DEVICE void arrive(unsigned *word, unsigned add) {
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" :: "l"(word), "r"(add) : "memory");
}
DEVICE unsigned look(const unsigned *word) {
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}
// Waits for all blocks and returns all votes. `turn` counts the barriers of all launches. The words of the turn after the
// next, of the barrier and of the queue of bricks, are cleared here: the blocks that used them two turns ago have all come
// to the last one since.
DEVICE unsigned everyone(unsigned *words, unsigned &turn, unsigned *vote) {
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned *word = words + turn % WORDS * WORD_STRIDE, *later = words + (turn + 2) % WORDS * WORD_STRIDE;
        if (blockIdx.x == 0) later[0] = later[WORDS * WORD_STRIDE] = 0;
        arrive(word, COME | (*vote & WANTS ? RENEW : 0) | (*vote & BREAKS ? BROKEN : 0));
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
#endif
