// A transposed convolution as an implicit matrix product on `wgmma`: one kernel for all phases.
//
// Rows are positions q of all items, columns are output channels of a phase (or of all phases, where these have one tap in
// common), products run over the phase's taps and over input channels. For a row and a tap the A operand is the input at
// q - reach, zeros where there is none. A block has BM rows and the BN columns of one group; a step is 128 bytes of the
// channels of one tap, in shared memory as wgmma wants it: rows of 128 bytes, in which 16-byte unit u of row r is at
// u ^ (r % 8). Taps that no row of the block needs are left out: with POSITION_MAJOR a block is at one position or few,
// and those at the border have fewer taps.
//
// The last FETCHERS threads fetch, the others multiply; see `mma_tile.cuh`. With SPLIT > 1 the blocks of a cluster share the steps of
// one tile and add their sums up through shared memory.
//
// The host defines CIN, UNIT (bytes a copy: 16, or fewer where channels need it), IZ IY IX (sides of the input), OZ OY OX,
// SZ SY SX (strides), QZ QY QX (positions of the largest phase), OUT, GROUPS, GROUP_MAJOR (all blocks of the group with
// most taps first), TAPS (most of a group), BLOCKS (a multiprocessor) and POSITION_MAJOR.

constexpr int THREADS = WORKERS + FETCHERS, Q = QZ * QY * QX;
constexpr int CHUNKS = (CIN * ES + 127) / 128;               // steps of a tap
constexpr int DEEP = CHUNKS > 1 ? 4 : (CIN * ES + 31) / 32;  // instructions of a step
constexpr int STAGE = BM * 128 + WEIGHTS;                    // bytes
constexpr int RING = STAGES * STAGE > LEFT ? STAGES * STAGE : LEFT;
constexpr int ROWS = BM * 8 / FETCHERS;                      // of which a thread fetches a unit

extern "C" __global__ void CLUSTER __launch_bounds__(THREADS, BLOCKS)
    gather(const uint *in, unsigned char *out, const unsigned char *__restrict__ weights, const int *__restrict__ table,
           const int *__restrict__ columns, const Acc *__restrict__ bias, const signed char *__restrict__ lookup, int n) {
    extern __shared__ uint4 shared[];
    char *const base = (char *)shared + (-address(shared) & 1023);
    i64 *const target = (i64 *)(base + RING);               // of each row: where its numbers go, or -1
    uint *const origin = (uint *)(target + BM), *const needs = origin + BM;  // its input, and the taps that it needs
    Acc *const own_bias = (Acc *)(needs + BM);
    int *const own_columns = (int *)(own_bias + BN);
    int *const any = own_columns + BN, *const list = any + 4;  // offsets, then numbers of the taps that are needed
    const Ring ring{address(base) + BM * 128, STAGE, address(list + (2 * TAPS + 3) / 4 * 4), blockIdx.x % PAIR};

    const int tiles = (n * Q + BM - 1) / BM, tile = blockIdx.x / (SPLIT * PAIR), rank = blockIdx.x % SPLIT;
    const int group = GROUP_MAJOR ? tile / ((tiles + PAIR - 1) / PAIR) : tile % GROUPS;
    const int row_tile = GROUP_MAJOR ? tile % ((tiles + PAIR - 1) / PAIR) : tile / GROUPS;
    const int first_row = (row_tile * PAIR + blockIdx.x % PAIR) * BM;
    const int *const own = table + group * (HEAD + TAPS);
    const int taps = own[0];
    let_next_start();

    if (threadIdx.x == 0) {
        *any = 0;
        ring.start(FETCHERS);
    }
    __syncthreads();
    for (int r = threadIdx.x; r < BM; r += THREADS) {
        const int m = first_row + r;
        const bool valid = m < n * Q;
        const int item = POSITION_MAJOR ? m % n : m / Q, q = POSITION_MAJOR ? m / n : m % Q;
        const int z = q / (QY * QX), y = q / QX % QY, x = q % QX;
        origin[r] = ((((uint)item * IZ + z) * IY + y) * IX + x) * (CIN * ES / 4);
        uint mask = 0;
        if (valid)
            for (int t = 0; t < taps; ++t) {
                const int tap = own[HEAD + t];
                const bool inside = (uint)(z - tap_z(tap)) < IZ && (uint)(y - tap_y(tap)) < IY && (uint)(x - tap_x(tap)) < IX;
                mask |= (uint)inside << t;
            }
        needs[r] = mask;
        atomicOr(any, (int)mask);
        const bool stored = valid && z < own[2] && y < own[3] && x < own[4];
        target[r] = stored ? ((((i64)item * OZ + z * SZ) * OY + y * SY) * OX + x * SX) * OUT : -1;
    }
    for (int e = threadIdx.x; e < BN; e += THREADS) own_bias[e] = bias[group * BN + e];
    for (int e = threadIdx.x; e < ACROSS; e += THREADS) own_columns[e] = columns[group * ACROSS + e];
    if (PAIR > 1)
        cluster_sync();
    else
        __syncthreads();
    uint needed = *any;
    if (PAIR > 1) {  // blocks that share weights take the same steps
        needed = 0;
        for (int other = 0; other < PAIR; ++other) {
            const Four four = cluster_read(address(any), other);
            needed |= *(const uint *)four.v;
        }
    }
    if (threadIdx.x < taps && (needed >> threadIdx.x & 1)) {
        const int tap = own[HEAD + threadIdx.x], at = __popc(needed & ((1u << threadIdx.x) - 1));
        list[at] = -((tap_z(tap) * IY + tap_y(tap)) * IX + tap_x(tap)) * (CIN * ES / 4);
        list[TAPS + at] = threadIdx.x;
    }
    __syncthreads();
    const int all = __popc(needed) * CHUNKS, begin = all * rank / SPLIT, steps = all * (rank + 1) / SPLIT - begin;

    Acc acc[MT][BN / 2];
    if (threadIdx.x >= WORKERS) {
        const int thread = threadIdx.x - WORKERS, unit = thread % 8;
        const uint place = address(base) + thread / 8 * 128 + (unit ^ (thread / 8 & 7)) * 16;
        uint from[ROWS], mask[ROWS];
        UNROLLED for (int i = 0; i < ROWS; ++i) {
            from[i] = origin[thread / 8 + FETCHERS / 8 * i];
            mask[i] = needs[thread / 8 + FETCHERS / 8 * i];
        }
        const auto fetch_weights = [&](int s) {
            const int step = begin + s;
            ring.fetch(s, weights + (i64)(own[1] + list[TAPS + step / CHUNKS] * CHUNKS + step % CHUNKS) * WEIGHTS);
        };
        if (thread == 0)
            for (int s = 0; s < min(STAGES, steps); ++s) fetch_weights(s);
        wait_for_inputs();
        int tap = begin / CHUNKS, chunk = begin % CHUNKS;
        for (int s = 0; s < steps; ++s) {
            const int number = list[TAPS + tap], byte = chunk * 128 + unit * 16;
            const uint offset = list[tap] + byte / 4, to = place + s % STAGES * STAGE;
            ring.wait_empty(s);
            if (thread == 0 && s >= STAGES) fetch_weights(s);
            UNROLLED for (int i = 0; i < ROWS; ++i) {
                const bool valid = mask[i] >> number & 1;
                UNROLLED for (int p = 0; p < 16; p += UNIT) {
                    const bool inside = valid && (CIN * ES % 128 == 0 || byte + p < CIN * ES);
                    copy<UNIT>(to + i * (FETCHERS * 16) + p, in + (inside ? from[i] + offset + p / 4 : 0u), inside);
                }
            }
            copies_come(ring.full + 8 * (s % STAGES));
            if (++chunk == CHUNKS) chunk = 0, ++tap;
        }
    } else {
        wait_for_inputs();
        const uint a0 = address(base) + threadIdx.x / 128 * (MT * 64 * 128);
        for (int s = 0; s < steps; ++s) {
            const uint a = a0 + s % STAGES * STAGE, b = ring.at + s % STAGES * STAGE;
            ring.wait_full(s);
            wgmma_begin();
            UNROLLED for (int k = 0; k < DEEP; ++k) UNROLLED for (int i = 0; i < MT; ++i)
                wgmma(acc[i], operand(a + i * (64 * 128) + k * 32), operand(b + k * 32), s > 0 || k > 0);
            wgmma_commit();
            wgmma_wait<1>();
            if (s > 0) ring.done(s - 1);
        }
        wgmma_wait<0>();
        if (steps == 0)
            UNROLLED for (int i = 0; i < MT; ++i) UNROLLED for (int k = 0; k < BN / 2; ++k) acc[i][k] = 0;
        some_sync(WORKERS);  // what follows overwrites the ring
    }
#if SPLIT > 1
    finish_split(out, acc, (Acc *)base, target, own_columns, own_bias, lookup, rank);
#else
    if (threadIdx.x < WORKERS) finish(out, acc, base, target, own_columns, own_bias, lookup);
    if (PAIR > 1) cluster_sync();  // the others may still come to this block's barriers
#endif
}
