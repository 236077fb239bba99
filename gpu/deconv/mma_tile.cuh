// Shared by the kernels on `wgmma`: operands, the table of groups, the ring of weights, and what becomes of the sums.
//
// WGS warpgroups multiply; the warps after them fetch. A group is BN columns and the taps that they have in common. Of each
// the table has: number of taps, first step of its weights, positions z y x, largest reach z y x, and the reaches of the
// taps, a byte a dimension.
//
// The host defines BN, MT (tiles of 64 rows of a warpgroup), WGS, STAGES, SPLIT (blocks of a cluster that share the steps
// of a tile), STORED (numbers a store).

constexpr int WORKERS = 128 * WGS, BM = 64 * MT * WGS;
constexpr int HEAD = 8;
constexpr int WEIGHTS = BN * 128;                      // bytes of a step's weights
constexpr int ACROSS = BN / STORED;                    // stores of a row
constexpr int PITCH = BN + 8;                          // with SPLIT: sums of a row in shared memory at the end
constexpr int PART = BN < 64 ? BN : 64;                // else: columns that a warp finishes at a time,
constexpr int LINE = PART * ES + 16;                   // bytes of a row of them,
constexpr int LEFT = SPLIT > 1 ? BM * PITCH * 4 : WORKERS / 2 * LINE;  // and of all warps

#if SPLIT > 1
#define CLUSTER __cluster_dims__(SPLIT, 1, 1)
#else
#define CLUSTER
#endif

// Operand at `at` (bytes in shared memory): rows of 128 bytes, swizzled, 1,024 bytes from 8 rows to the next 8.
__device__ __forceinline__ u64 operand(uint at) { return (u64)(at >> 4 & 0x3FFF) | 1ull << 16 | 64ull << 32 | 1ull << 62; }

__device__ __forceinline__ int tap_z(int tap) { return (signed char)(tap >> 16); }
__device__ __forceinline__ int tap_y(int tap) { return (signed char)(tap >> 8); }
__device__ __forceinline__ int tap_x(int tap) { return (signed char)tap; }

// Stages at `at`: full[stage] is passed when the step's weights are there and `others` threads have come, empty[stage] when
// all workers have done with it. Steps count from 0.
struct Ring {
    uint at, stride, full;  // addresses; bytes from stage to stage

    __device__ __forceinline__ uint empty() const { return full + 8 * STAGES; }

    // By thread 0, before a barrier.
    __device__ __forceinline__ void start(int others) const {
        for (int s = 0; s < STAGES; ++s) {
            barrier_init(full + 8 * s, 1 + others);
            barrier_init(empty() + 8 * s, 4 * WGS);
        }
        show_barriers();
    }
    __device__ __forceinline__ void wait_empty(int step) const {
        if (step >= STAGES) barrier_wait(empty() + 8 * (step % STAGES), (step / STAGES - 1) & 1);
    }
    // By one thread.
    __device__ __forceinline__ void fetch(int step, const unsigned char *from) const {
        const int stage = step % STAGES;
        barrier_expect(full + 8 * stage, WEIGHTS);
        bulk_copy(at + stage * stride, from, WEIGHTS, full + 8 * stage);
    }
    __device__ __forceinline__ void wait_full(int step) const {
        barrier_wait(full + 8 * (step % STAGES), step / STAGES & 1);
        show_to_wgmma();
    }
    // By all lanes of each worker's warp.
    __device__ __forceinline__ void done(int step) const {
        if (threadIdx.x % 32 == 0) barrier_come(empty() + 8 * (step % STAGES));
    }
};

// A store of `from` (STORED numbers) to global memory.
__device__ __forceinline__ void pass(unsigned char *to, const char *from) {
    if constexpr (STORED * ES == 16) *(uint4 *)to = *(const uint4 *)from;
    if constexpr (STORED * ES == 8) *(uint2 *)to = *(const uint2 *)from;
    if constexpr (STORED * ES == 4) *(uint *)to = *(const uint *)from;
    if constexpr (STORED * ES == 2) *(unsigned short *)to = *(const unsigned short *)from;
    if constexpr (STORED * ES == 1) *to = *(const unsigned char *)from;
}

// A worker's sums with bias through the activation to `out`, by way of `room` (LEFT bytes) in shared memory. Row r goes to
// number target[r], or nowhere if that is negative, column unit u (of STORED) columns[u] further, or nowhere.
__device__ __forceinline__ void finish(unsigned char *out, const Acc (&acc)[MT][BN / 2], char *room, const i64 *target,
                                       const int *columns, const Acc *bias, const signed char *lookup) {
    constexpr int UNITS_OF_PART = PART / STORED;
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, warp = threadIdx.x / 32;
    char *const rows = room + warp * 16 * LINE;
    UNROLLED for (int i = 0; i < MT; ++i) UNROLLED for (int p = 0; p < BN; p += PART) {
        UNROLLED for (int j = 0; j < PART / 8; ++j) {
            const int column = p + 8 * j + 2 * t;
            const Acc low = bias[column], high = bias[column + 1];
            UNROLLED for (int h = 0; h < 2; ++h) {
                const int k = p / 2 + 4 * j + 2 * h;
                const Acc two[2] = {activate(acc[i][k] + low, lookup), activate(acc[i][k + 1] + high, lookup)};
                store((unsigned char *)rows + (8 * h + g) * LINE + (8 * j + 2 * t) * ES, two);
            }
        }
        __syncwarp();
        const int first = warp / 4 * (64 * MT) + i * 64 + warp % 4 * 16;
        UNROLLED for (int e = lane; e < 16 * UNITS_OF_PART; e += 32) {
            const int r = e / UNITS_OF_PART, u = e % UNITS_OF_PART;
            const i64 at = target[first + r];
            const int offset = columns[p / STORED + u];
            if (at >= 0 && offset >= 0) pass(out + (at + offset) * ES, rows + r * LINE + u * STORED * ES);
        }
        __syncwarp();
    }
}

// The same where the blocks of a cluster have parts of the sums: each adds up and finishes BM / SPLIT rows. By all threads.
__device__ __forceinline__ void finish_split(unsigned char *out, const Acc (&acc)[MT][BN / 2], Acc *sums, const i64 *target,
                                             const int *columns, const Acc *bias, const signed char *lookup, int rank) {
    if (threadIdx.x < WORKERS) {
        const int lane = threadIdx.x % 32, first = threadIdx.x / 128 * (64 * MT) + threadIdx.x / 32 % 4 * 16 + lane / 4;
        UNROLLED for (int i = 0; i < MT; ++i) UNROLLED for (int k = 0; k < BN / 2; k += 2) {
            struct alignas(8) Two { Acc v[2]; };
            *(Two *)(sums + (first + i * 64 + k / 2 % 2 * 8) * PITCH + k / 4 * 8 + lane % 4 * 2) = Two{{acc[i][k], acc[i][k + 1]}};
        }
    }
    cluster_sync();
    constexpr int OWN = BM / SPLIT;
    for (int e = threadIdx.x; e < OWN * ACROSS; e += WORKERS) {
        const int r = rank * OWN + e / ACROSS, column = e % ACROSS * STORED;
        if (threadIdx.x >= WORKERS || target[r] < 0 || columns[e % ACROSS] < 0) continue;
        Acc x[STORED];
        UNROLLED for (int k = 0; k < STORED; ++k) x[k] = bias[column + k];
        UNROLLED for (int other = 0; other < SPLIT; ++other) {
            const Acc *const source = sums + r * PITCH + column;
            if constexpr (STORED % 4 == 0) {
                UNROLLED for (int k = 0; k < STORED; k += 4) {
                    const Four four = cluster_read(address(source + k), other);
                    UNROLLED for (int w = 0; w < 4; ++w) x[k + w] += four.v[w];
                }
            } else {
                const int shift = column % 4;
                const Four four = cluster_read(address(source - shift), other);
                UNROLLED for (int k = 0; k < STORED; ++k) x[k] += four.v[shift + k];
            }
        }
        UNROLLED for (int k = 0; k < STORED; ++k) x[k] = activate(x[k], lookup);
        store(out + (target[r] + columns[e % ACROSS]) * ES, x);
    }
    cluster_sync();  // the others may still read
}
