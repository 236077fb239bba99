// A transposed convolution as an implicit matrix product on `wgmma`: one kernel for all phases.
//
// Rows are positions q of all items, columns are output channels of a phase (or of all phases, where these have one tap in
// common), products run over the phase's taps and over input channels. For a row and a tap the A operand is the input at
// q - reach, zeros where there is none. A block has BM rows and the BN columns of one group; a step is 128 bytes of the
// channels of one tap, in shared memory as wgmma wants it: rows of 128 bytes, in which 16-byte unit u of row r is at
// u ^ (r % 8). Taps that no row of the block needs are left out: with POSITION_MAJOR a block is at one position or few,
// and those at the border have fewer taps.
//
// The last FETCHERS threads fetch, the others multiply; see `mma_tile.cuh`. With PERSISTENT a block takes one tile after the
// other, and the next one is fetched while the last one is finished. With SPLIT > 1 the blocks of a cluster share the steps
// of one tile and add their sums up through shared memory. With BALANCED (which is PERSISTENT) every block has as many steps
// as every other, by a plan: blocks + 1 places of their first piece, then of each piece its tile, first step, number of steps,
// and 0 for a whole tile, -1 for a part that is given away through global memory, or how many blocks before this one have
// the other parts. What a block gives it does first, and what it takes last; who takes waits for blocks of smaller numbers only.
//
// The host defines CIN, UNIT (bytes a copy: 16, or fewer where channels need it), IZ IY IX (sides of the input), OZ OY OX,
// SZ SY SX (strides), QZ QY QX (positions of the largest phase), OUT, GROUPS, GROUP_MAJOR (all tiles of the group with most
// taps first), TAPS (most of a group), BLOCKS (a multiprocessor), POSITION_MAJOR, FETCHERS, PERSISTENT and BALANCED (0 or 1).

constexpr int THREADS = WORKERS + FETCHERS, Q = QZ * QY * QX;
constexpr int CHUNKS = (CIN * ES + 127) / 128;               // steps of a tap
constexpr int DEEP = CHUNKS > 1 ? 4 : (CIN * ES + 31) / 32;  // instructions of a step
constexpr int STAGE = BM * 128 + WEIGHTS;                    // bytes
constexpr int OVER = PERSISTENT ? STAGES * STAGE : 0;        // where finished numbers pass through shared memory
constexpr int RING = STAGES * STAGE > OVER + LEFT ? STAGES * STAGE : OVER + LEFT;
constexpr int ROWS = BM * 8 / FETCHERS;                      // of which a thread fetches a unit
constexpr int AHEAD = 8;                                     // more tiles than can be under way: each has a step
static_assert(STAGES < AHEAD, "the steps of a tile would be forgotten");

// Item and position of a row; the item is negative if there is none.
struct Place {
    int item, z, y, x;
    __device__ __forceinline__ Place(int row, int n) {
        const int q = POSITION_MAJOR ? row / n : row % Q;
        item = row >= n * Q ? -1 : POSITION_MAJOR ? row % n : row / Q;
        z = q / (QY * QX), y = q / QX % QY, x = q % QX;
    }
};

constexpr int PIECE = MT * (BN / 2) * WORKERS;  // sums of a tile
static_assert(!BALANCED || PIECE * 4 <= STAGES * STAGE, "the sums of a tile do not fit the ring");

// The sums of a part of a tile to the block that finishes the tile, and from there. By all workers.
__device__ __forceinline__ void give(Acc *part, volatile int *there, const Acc (&acc)[MT][BN / 2]) {
    UNROLLED for (int i = 0; i < MT; ++i) UNROLLED for (int k = 0; k < BN / 2; ++k)
        part[(i * (BN / 2) + k) * WORKERS + threadIdx.x] = acc[i][k];
    __threadfence();
    some_sync(1, WORKERS);
    if (threadIdx.x == 0) *there = 1;
}
__device__ __forceinline__ void take(Acc (&acc)[MT][BN / 2], const char *room, const Acc *part, volatile int *there,
                                     uint barrier, int number) {
    some_sync(1, WORKERS);  // all have read what lay in the room
    if (threadIdx.x == 0) {
        while (*there == 0) {}
        __threadfence();
        show_to_copies();
        barrier_expect(barrier, PIECE * 4);
        bulk_copy(address(room), part, PIECE * 4, barrier);
        *there = 0;  // for the next launch
    }
    barrier_wait(barrier, number & 1);
    const Acc *const sums = (const Acc *)room + threadIdx.x;
    UNROLLED for (int i = 0; i < MT; ++i) UNROLLED for (int k = 0; k < BN / 2; ++k) acc[i][k] += sums[(i * (BN / 2) + k) * WORKERS];
}

extern "C" __global__ void CLUSTER __launch_bounds__(THREADS, BLOCKS)
    gather(const uint *in, unsigned char *out, const unsigned char *__restrict__ weights, const int *__restrict__ table,
           const int *__restrict__ columns, const Acc *__restrict__ bias, const signed char *__restrict__ lookup,
           const int *__restrict__ plan, Acc *parts, int *there, int n) {
    extern __shared__ uint4 shared[];
    char *const base = (char *)shared + (-address(shared) & 1023);
    i64 *const target = (i64 *)(base + RING);                                // of each row: where its numbers go, or -1
    uint *const origin = (uint *)(target + BM), *const needs = origin + BM;  // its input, and the taps that it needs
    int *const any = (int *)(needs + BM), *const count = any + 4;            // steps of the tiles under way
    int *const list = count + AHEAD;                                         // offsets, then numbers of the needed taps
    const Ring ring{address(base) + BM * 128, STAGE, address(list + (2 * TAPS + 3) / 4 * 4)};

    const int tiles = (n * Q + BM - 1) / BM, rank = blockIdx.x % SPLIT, stride = gridDim.x / SPLIT;
    const uint taken = ring.empty() + 8 * STAGES;  // barrier of the parts that are taken
    let_next_start();
    if (threadIdx.x == 0) {
        any[0] = any[1] = 0;
        barrier_init(taken, 1);
        ring.start(FETCHERS);
    }
    __syncthreads();

    // What a block does as its `number`th: a tile, or a piece of the plan.
    const int pieces = BALANCED ? plan[blockIdx.x + 1] - plan[blockIdx.x] : 0;
    const int *const own_plan = BALANCED ? plan + gridDim.x + 1 + 4 * plan[blockIdx.x] : plan;
    const auto tile_of = [&](int number) {
        if (BALANCED) return number < pieces ? own_plan[4 * number] : -1;
        const int tile = blockIdx.x / SPLIT + number * stride;
        return tile < tiles * GROUPS ? tile : -1;
    };

    Acc acc[MT][BN / 2];
    int s = 0, number = 0, tile;
    if (threadIdx.x >= WORKERS) {
        const int thread = threadIdx.x - WORKERS, unit = thread % 8;
        const uint place = address(base) + thread / 8 * 128 + (unit ^ (thread / 8 & 7)) * 16;
        for (; (tile = tile_of(number)) >= 0; ++number) {
            const int group = GROUP_MAJOR ? tile / tiles : tile % GROUPS;
            const int first_row = (GROUP_MAJOR ? tile % tiles : tile / GROUPS) * BM;
            const int *const own = table + group * (HEAD + TAPS);
            const int taps = own[0];
            for (int r = thread; r < BM; r += FETCHERS) {
                const Place p(first_row + r, n);
                origin[r] = ((((uint)p.item * IZ + p.z) * IY + p.y) * IX + p.x) * (CIN * ES / 4);
                uint mask = 0;
                if (p.item >= 0)
                    for (int t = 0; t < taps; ++t) {
                        const int tap = own[HEAD + t];
                        const bool inside = (uint)(p.z - tap_z(tap)) < IZ && (uint)(p.y - tap_y(tap)) < IY &&
                                            (uint)(p.x - tap_x(tap)) < IX;
                        mask |= (uint)inside << t;
                    }
                needs[r] = mask;
                atomicOr(any + number % 2, (int)mask);
            }
            some_sync(2, FETCHERS);
            const uint needed = any[number % 2] ? any[number % 2] : 1;  // a tile has a step, of zeros if need be
            uint from[ROWS], mask[ROWS];
            UNROLLED for (int i = 0; i < ROWS; ++i) {
                from[i] = origin[thread / 8 + FETCHERS / 8 * i];
                mask[i] = needs[thread / 8 + FETCHERS / 8 * i];
            }
            const int all = __popc(needed) * CHUNKS, begin = BALANCED ? own_plan[4 * number + 1] : all * rank / SPLIT;
            const int steps = BALANCED ? own_plan[4 * number + 2] : all * (rank + 1) / SPLIT - begin;
            if (thread == 0) {
                any[(number + 1) % 2] = 0;
                count[number % AHEAD] = steps;
            }
            if (thread < TAPS && (needed >> thread & 1)) {
                const int tap = own[HEAD + thread], at = __popc(needed & ((1u << thread) - 1));
                list[at] = -((tap_z(tap) * IY + tap_y(tap)) * IX + tap_x(tap)) * (CIN * ES / 4);
                list[TAPS + at] = thread;
            }
            if (number)
                some_sync(2, FETCHERS);
            else
                some_sync(3, THREADS);
            const auto fetch_weights = [&](int k) {
                const int step = begin + k;
                ring.fetch(s + k, weights + (i64)(own[1] + list[TAPS + step / CHUNKS] * CHUNKS + step % CHUNKS) * WEIGHTS);
            };
            const int early = number ? 0 : min(STAGES, steps);
            if (number == 0) {
                if (thread == 0)
                    for (int k = 0; k < early; ++k) fetch_weights(k);
                wait_for_inputs();
            }
            int tap = begin / CHUNKS, chunk = begin % CHUNKS;
            for (int k = 0; k < steps; ++k) {
                const int bit = list[TAPS + tap], byte = chunk * 128 + unit * 16, stage = (s + k) % STAGES;
                const uint offset = list[tap] + byte / 4, to = place + stage * STAGE;
                ring.wait_empty(s + k);
                if (thread == 0 && k >= early) fetch_weights(k);
                UNROLLED for (int i = 0; i < ROWS; ++i) {
                    const bool valid = mask[i] >> bit & 1;
                    UNROLLED for (int p = 0; p < 16; p += UNIT) {
                        const bool inside = valid && (CIN * ES % 128 == 0 || byte + p < CIN * ES);
                        copy<UNIT>(to + i * (FETCHERS * 16) + p, in + (inside ? from[i] + offset + p / 4 : 0u), inside);
                    }
                }
                copies_come(ring.full + 8 * stage);
                if (++chunk == CHUNKS) chunk = 0, ++tap;
            }
            s += steps;
        }
    } else {
        wait_for_inputs();
        const uint a0 = address(base) + threadIdx.x / 128 * (MT * 64 * 128);
        for (; (tile = tile_of(number)) >= 0; ++number) {
            const int group = GROUP_MAJOR ? tile / tiles : tile % GROUPS;
            const int first_row = (GROUP_MAJOR ? tile % tiles : tile / GROUPS) * BM;
            const int *const own = table + group * (HEAD + TAPS);
            const int lane = threadIdx.x % 32, first = threadIdx.x / 128 * (64 * MT) + threadIdx.x / 32 % 4 * 16;
            for (int k = lane; k < 16 * MT; k += 32) {  // rows of this warp
                const int r = first + k / 16 * 64 + k % 16;
                const Place p(first_row + r, n);
                const bool stored = p.item >= 0 && p.z < own[2] && p.y < own[3] && p.x < own[4];
                target[r] = stored ? ((((i64)p.item * OZ + p.z * SZ) * OY + p.y * SY) * OX + p.x * SX) * OUT : -1;
            }
            __syncwarp();
            if (number)
                ring.wait_full(s);  // and the number of steps is there
            else
                some_sync(3, THREADS);
            const int end = s + count[number % AHEAD];
            if (SPLIT > 1 && s == end)
                UNROLLED for (int i = 0; i < MT; ++i) UNROLLED for (int k = 0; k < BN / 2; ++k) acc[i][k] = 0;
            for (int begin = s; s < end; ++s) {
                const uint a = a0 + s % STAGES * STAGE, b = ring.at + s % STAGES * STAGE;
                ring.wait_full(s);
                wgmma_begin();
                UNROLLED for (int k = 0; k < DEEP; ++k) UNROLLED for (int i = 0; i < MT; ++i)
                    wgmma(acc[i], operand(a + i * (64 * 128) + k * 32), operand(b + k * 32), s > begin || k > 0);
                wgmma_commit();
                wgmma_wait<1>();
                if (s > begin) ring.done(s - 1);
            }
            wgmma_wait<0>();
            if (s) ring.done(s - 1);
            if (!PERSISTENT) some_sync(1, WORKERS);  // what follows overwrites the ring
            if constexpr (BALANCED) {
                const int role = own_plan[4 * number + 3];
                for (int k = 1; k <= role; ++k) {  // the ring is free then: no step follows
                    const int other = blockIdx.x - k;
                    take(acc, base, parts + (i64)other * PIECE, there + other, taken, k - 1);
                }
                if (role < 0) {
                    give(parts + (i64)blockIdx.x * PIECE, there + blockIdx.x, acc);
                    continue;
                }
            }
            if (SPLIT == 1)
                finish(out, acc, base + OVER, target, columns + group * ACROSS, bias + group * BN, lookup);
        }
    }
#if SPLIT > 1
    const int group = GROUP_MAJOR ? blockIdx.x / SPLIT / tiles : blockIdx.x / SPLIT % GROUPS;
    finish_split(out, acc, (Acc *)base, target, columns + group * ACROSS, bias + group * BN, lookup, rank);
#endif
}
