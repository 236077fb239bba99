// Shared by the kernels on `wgmma`: operands, the table of groups, the ring of weights, and what becomes of the sums.
//
// A group is BN columns and the taps that they have in common. Of each the table has: number of taps, first step of its
// weights, positions z y x, largest reach z y x, and the reaches of the taps, a byte a dimension.
//
// The host defines BN, MT (tiles of 64 rows of a warpgroup), WGS (warpgroups), STAGES, AHEAD (steps fetched in advance:
// STAGES - 2, or all), SPLIT, PAIR (blocks of a cluster that share weights, in one of which each fetches a part of them for
// all; not with SPLIT), STORED (numbers a store).

constexpr int THREADS = 128 * WGS, BM = 64 * MT * WGS;
constexpr int HEAD = 8;
constexpr int PITCH = BN + 8;                          // sums of a row in shared memory at the end
#if SPLIT * PAIR > 1
#define CLUSTER __cluster_dims__(SPLIT *PAIR, 1, 1)
#else
#define CLUSTER
#endif

constexpr int WEIGHTS = BN * 128;                      // bytes of a step's weights
constexpr int ACROSS = BN / STORED, OWN = BM / SPLIT;  // stores of a row; rows that this block stores

// Operand at `at` (bytes in shared memory): rows of 128 bytes, swizzled, 1,024 bytes from 8 rows to the next 8.
__device__ __forceinline__ u64 operand(uint at) { return (u64)(at >> 4 & 0x3FFF) | 1ull << 16 | 64ull << 32 | 1ull << 62; }

__device__ __forceinline__ int tap_z(int tap) { return (signed char)(tap >> 16); }
__device__ __forceinline__ int tap_y(int tap) { return (signed char)(tap >> 8); }
__device__ __forceinline__ int tap_x(int tap) { return (signed char)tap; }

// Stages of weights at `at`: the step's bytes come to full[stage]; where blocks share them, empty[stage] says that all have
// done with what was there. Steps count from 0.
struct Ring {
    uint at, stride, full, rank;  // addresses; bytes from stage to stage

    __device__ __forceinline__ uint empty() const { return full + 8 * STAGES; }

    // By all threads, before anything else.
    __device__ __forceinline__ void start() const {
        if (threadIdx.x == 0) {
            for (int s = 0; s < STAGES; ++s) {
                barrier_init(full + 8 * s, 1);
                barrier_init(empty() + 8 * s, PAIR);
            }
            show_barriers();
        }
        if (PAIR > 1)
            cluster_sync();
        else
            __syncthreads();
    }
    // By thread 0.
    __device__ __forceinline__ void fetch(int step, const unsigned char *from) const {
        const int stage = step % STAGES;
        if (PAIR > 1 && step >= STAGES) barrier_wait(empty() + 8 * stage, (step / STAGES - 1) & 1);
        barrier_expect(full + 8 * stage, WEIGHTS);
        constexpr int PART = WEIGHTS / PAIR;
        bulk_copy(at + stage * stride + rank * PART, from + rank * PART, PART, full + 8 * stage);
    }
    __device__ __forceinline__ void wait(int step) const { barrier_wait(full + 8 * (step % STAGES), step / STAGES & 1); }

    // By all threads: the block has done with a step's weights.
    __device__ __forceinline__ void done(int step) const {
        if (PAIR > 1 && threadIdx.x < PAIR) barrier_come(empty() + 8 * (step % STAGES), threadIdx.x);
    }
};

// Sums with bias through the activation to `out`. Row r goes to number target[r] of it, or nowhere if that is negative,
// column unit u (of STORED) columns[u] further. All threads of the block must have done with what `sums` overwrites.
__device__ __forceinline__ void finish(unsigned char *out, const Acc (&acc)[MT][BN / 2], Acc *sums, const i64 *target,
                                       const int *columns, const Acc *bias, const signed char *lookup, int rank) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, warpgroup = threadIdx.x / 128;
    UNROLLED for (int i = 0; i < MT; ++i) UNROLLED for (int k = 0; k < BN / 2; k += 2) {
        const int r = (warpgroup * MT + i) * 64 + warp * 16 + lane / 4 + k / 2 % 2 * 8;
        struct alignas(8) Two { Acc v[2]; };
        *(Two *)(sums + r * PITCH + k / 4 * 8 + lane % 4 * 2) = Two{{acc[i][k], acc[i][k + 1]}};
    }
    if (SPLIT > 1)
        cluster_sync();
    else
        __syncthreads();
    for (int e = threadIdx.x; e < OWN * ACROSS; e += THREADS) {
        const int r = rank * OWN + e / ACROSS, column = e % ACROSS * STORED;
        const int offset = columns[e % ACROSS];
        if (target[r] < 0 || offset < 0) continue;
        Acc x[STORED];
        UNROLLED for (int k = 0; k < STORED; ++k) x[k] = bias[column + k];
        UNROLLED for (int other = 0; other < SPLIT; ++other) {
            const Acc *const source = sums + r * PITCH + column;
            if constexpr (STORED % 4 == 0) {
                UNROLLED for (int k = 0; k < STORED; k += 4) {
                    const Four four = SPLIT > 1 ? cluster_read(address(source + k), other) : *(const Four *)(source + k);
                    UNROLLED for (int w = 0; w < 4; ++w) x[k + w] += four.v[w];
                }
            } else {
                const int shift = column % 4;
                const Four four = SPLIT > 1 ? cluster_read(address(source - shift), other) : *(const Four *)(source - shift);
                UNROLLED for (int k = 0; k < STORED; ++k) x[k] += four.v[shift + k];
            }
        }
        UNROLLED for (int k = 0; k < STORED; ++k) x[k] = activate(x[k], lookup);
        store(out + (target[r] + offset) * ES, x);
    }
}
