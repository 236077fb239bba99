// A transposed convolution as an implicit matrix product on `wgmma`: one kernel for all phases.
//
// Rows are positions q of all items, columns are output channels of a phase (or of all phases, where these have one tap in
// common), products run over the phase's taps and over input channels. For a row and a tap the A operand is the input at
// q - reach, zeros where there is none. A block has BM rows and the BN columns of one group; a step is 128 bytes of the
// channels of one tap, in shared memory as wgmma wants it: rows of 128 bytes, in which 16-byte unit u of row r is at
// u ^ (r % 8). Taps that no row of the block needs are left out: with POSITION_MAJOR a block is at one position or few,
// and those at the border have fewer taps.
//
// With SPLIT > 1 the blocks of a cluster share the steps of one tile and add their sums up through shared memory.
//
// The host defines CIN, UNIT (bytes a copy: 16, or fewer where channels need it), IZ IY IX (sides of the input), OZ OY OX,
// SZ SY SX (strides), QZ QY QX (positions of the largest phase), OUT, GROUPS, TAPS (most of a group), BN, MT (tiles of 64
// rows of a warpgroup), WGS (warpgroups), STAGES, AHEAD (steps fetched in advance: STAGES - 2, or all), SPLIT, BLOCKS (a multiprocessor), POSITION_MAJOR, and STORED (numbers a
// store).

constexpr int THREADS = 128 * WGS, BM = 64 * MT * WGS, Q = QZ * QY * QX;
constexpr int CHUNKS = (CIN * ES + 127) / 128;                              // steps of a tap
constexpr int DEEP = CHUNKS > 1 ? 4 : (CIN * ES + 31) / 32;                 // instructions of a step
constexpr int STAGE = (BM + BN) * 128, PITCH = BN + 8;                      // bytes; sums of a row at the end
constexpr int RING = STAGES * STAGE > BM * PITCH * 4 ? STAGES * STAGE : BM * PITCH * 4;
constexpr int ROWS = BM * 8 / THREADS;                                      // that a thread fetches a unit of
constexpr int HEAD = 5;                                                     // taps, first step, counts z y x of a group
constexpr int ACROSS = BN / STORED, OWN = BM / SPLIT;                       // stores of a row; rows this block stores

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

extern "C" __global__ void CLUSTER __launch_bounds__(THREADS, BLOCKS)
    gather(const uint *in, unsigned char *out, const uint4 *__restrict__ weights, const int *__restrict__ table,
           const int *__restrict__ columns, const Acc *__restrict__ bias, const signed char *__restrict__ lookup, int n) {
    extern __shared__ uint4 shared[];
    char *const ring = (char *)shared + (-address(shared) & 1023);
    i64 *const target = (i64 *)(ring + RING);  // of each row: where its numbers go, or -1
    int *const list = (int *)(target + BM);    // offsets, then numbers of the taps that are needed
    int *const any = list + 2 * TAPS;

    const int tile = blockIdx.x / SPLIT, rank = blockIdx.x % SPLIT, group = tile % GROUPS;
    const int first_row = tile / GROUPS * BM;
    const int *const own = table + group * (HEAD + TAPS);
    const int taps = own[0];
    let_next_start();

    if (threadIdx.x == 0) *any = 0;
    __syncthreads();
    const int unit = threadIdx.x % 8;
    uint from[ROWS], needs[ROWS];
    UNROLLED for (int i = 0; i < ROWS; ++i) {
        const int r = threadIdx.x / 8 + i * (THREADS / 8), m = first_row + r;
        const bool valid = m < n * Q;
        const int item = POSITION_MAJOR ? m % n : m / Q, q = POSITION_MAJOR ? m / n : m % Q;
        const int z = q / (QY * QX), y = q / QX % QY, x = q % QX;
        from[i] = (((uint)item * IZ + z) * IY + y) * IX + x;
        from[i] *= CIN * ES / 4;
        uint mask = 0;
        if (valid)
            for (int t = 0; t < taps; ++t) {
                const int tap = own[HEAD + t];
                const bool inside = (uint)(z - tap_z(tap)) < IZ && (uint)(y - tap_y(tap)) < IY && (uint)(x - tap_x(tap)) < IX;
                mask |= (uint)inside << t;
            }
        needs[i] = mask;
        if (unit == 0) {
            atomicOr(any, (int)mask);
            const bool stored = valid && z < own[2] && y < own[3] && x < own[4];
            target[r] = stored ? ((((i64)item * OZ + z * SZ) * OY + y * SY) * OX + x * SX) * OUT : -1;
        }
    }
    __syncthreads();
    const uint needed = *any;
    if (threadIdx.x < taps && (needed >> threadIdx.x & 1)) {
        const int tap = own[HEAD + threadIdx.x], at = __popc(needed & ((1u << threadIdx.x) - 1));
        list[at] = -((tap_z(tap) * IY + tap_y(tap)) * IX + tap_x(tap)) * (CIN * ES / 4);
        list[TAPS + at] = threadIdx.x;
    }
    __syncthreads();
    const int steps = __popc(needed) * CHUNKS, begin = steps * rank / SPLIT, end = steps * (rank + 1) / SPLIT;

    const auto fetch_weights = [&](int step) {
        const uint to = address(ring) + (step - begin) % STAGES * STAGE + BM * 128 + threadIdx.x * 16;
        const int at = own[1] + list[TAPS + step / CHUNKS] * CHUNKS + step % CHUNKS;
        const uint4 *const source = weights + (i64)at * (BN * 8) + threadIdx.x;
        UNROLLED for (int e = 0; e < BN * 8; e += THREADS)
            if (BN * 8 % THREADS == 0 || e + threadIdx.x < BN * 8) copy<16>(to + e * 16, source + e, true);
    };
    const auto fetch = [&](int step) {
        const uint to = address(ring) + (step - begin) % STAGES * STAGE + threadIdx.x / 8 * 128;
        const int tap = step / CHUNKS, byte = step % CHUNKS * 128 + unit * 16, number = list[TAPS + tap];
        const uint offset = list[tap] + byte / 4;
        UNROLLED for (int i = 0; i < ROWS; ++i) {
            const uint r = threadIdx.x / 8;  // rows THREADS / 8 apart have the same place in their 8
            const uint place = to + i * (THREADS / 8) * 128 + (unit ^ (r & 7)) * 16;
            const bool valid = needs[i] >> number & 1;
            UNROLLED for (int p = 0; p < 16; p += UNIT) {
                const bool inside = valid && (CIN * ES % 128 == 0 || byte + p < CIN * ES);
                copy<UNIT>(place + p, in + (inside ? from[i] + offset + p / 4 : 0u), inside);
            }
        }
    };
    UNROLLED for (int s = 0; s < AHEAD; ++s)
        if (begin + s < end) fetch_weights(begin + s);
    wait_for_inputs();
    UNROLLED for (int s = 0; s < AHEAD; ++s) {
        if (begin + s < end) fetch(begin + s);
        copies_commit();
    }

    const int warpgroup = threadIdx.x / 128;
    Acc acc[MT][BN / 2];
    UNROLLED for (int i = 0; i < MT; ++i) UNROLLED for (int k = 0; k < BN / 2; ++k) acc[i][k] = 0;
    for (int step = begin; step < end; ++step) {
        copies_wait<AHEAD - 1>();
        show_to_wgmma();
        __syncthreads();
        const uint a = address(ring) + (step - begin) % STAGES * STAGE, b = a + BM * 128;
        wgmma_begin();
        UNROLLED for (int k = 0; k < DEEP; ++k) UNROLLED for (int i = 0; i < MT; ++i)
            wgmma(acc[i], operand(a + (warpgroup * MT + i) * (64 * 128) + k * 32), operand(b + k * 32));
        wgmma_commit();
        wgmma_wait<1>();
        // Its place was read two steps ago, and all threads have waited for that before the barrier above.
        if (step + AHEAD < end) {
            fetch_weights(step + AHEAD);
            fetch(step + AHEAD);
        }
        copies_commit();
    }
    wgmma_wait<0>();
    copies_wait<0>();
    __syncthreads();

    Acc *const sums = (Acc *)ring;
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
        UNROLLED for (int i = 0; i < MT; ++i) UNROLLED for (int k = 0; k < BN / 2; k += 2) {
            const int r = (warpgroup * MT + i) * 64 + warp * 16 + lane / 4 + k / 2 % 2 * 8;
            struct alignas(8) Two { Acc v[2]; };
            *(Two *)(sums + r * PITCH + k / 4 * 8 + lane % 4 * 2) = Two{{acc[i][k], acc[i][k + 1]}};
        }
    }
    if (SPLIT > 1)
        cluster_sync();
    else
        __syncthreads();
    for (int e = threadIdx.x; e < OWN * ACROSS; e += THREADS) {
        const int r = rank * OWN + e / ACROSS, column = e % ACROSS * STORED;
        const int offset = columns[group * ACROSS + e % ACROSS];
        if (target[r] < 0 || offset < 0) continue;
        Acc x[STORED];
        UNROLLED for (int k = 0; k < STORED; ++k) x[k] = bias[group * BN + column + k];
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
    if (SPLIT > 1) cluster_sync();  // the others may still read
}
