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
// rows of a warpgroup), WGS (warpgroups), STAGES, AHEAD, SPLIT, PAIR, BLOCKS (a multiprocessor), POSITION_MAJOR, and STORED (numbers a
// store).

constexpr int Q = QZ * QY * QX;
constexpr int CHUNKS = (CIN * ES + 127) / 128;                              // steps of a tap
constexpr int DEEP = CHUNKS > 1 ? 4 : (CIN * ES + 31) / 32;                 // instructions of a step
constexpr int STAGE = (BM + BN) * 128;                                      // bytes
constexpr int RING = STAGES * STAGE > BM * PITCH * 4 ? STAGES * STAGE : BM * PITCH * 4;
constexpr int ROWS = BM * 8 / THREADS;                                      // that a thread fetches a unit of

extern "C" __global__ void CLUSTER __launch_bounds__(THREADS, BLOCKS)
    gather(const uint *in, unsigned char *out, const uint4 *__restrict__ weights, const int *__restrict__ table,
           const int *__restrict__ columns, const Acc *__restrict__ bias, const signed char *__restrict__ lookup, int n) {
    extern __shared__ uint4 shared[];
    char *const ring = (char *)shared + (-address(shared) & 1023);
    i64 *const target = (i64 *)(ring + RING);            // of each row: where its numbers go, or -1
    int *const list = (int *)(target + BM);              // offsets, then numbers of the taps that are needed
    int *const any = list + (2 * TAPS + 3) / 4 * 4;      // 16 bytes for one number
    const Ring weights_ring{address(ring) + BM * 128, STAGE, address(any + 4), blockIdx.x % PAIR};

    const int tile = blockIdx.x / (SPLIT * PAIR), rank = blockIdx.x % SPLIT, group = tile % GROUPS;
    const int first_row = (tile / GROUPS * PAIR + blockIdx.x % PAIR) * BM;
    const int *const own = table + group * (HEAD + TAPS);
    const int taps = own[0];
    let_next_start();

    if (threadIdx.x == 0) *any = 0;
    weights_ring.start();
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
    const int steps = __popc(needed) * CHUNKS, begin = steps * rank / SPLIT, end = steps * (rank + 1) / SPLIT;

    const auto fetch_weights = [&](int step) {
        if (threadIdx.x) return;
        const int at = own[1] + list[TAPS + step / CHUNKS] * CHUNKS + step % CHUNKS;
        weights_ring.fetch(step - begin, (const unsigned char *)weights + (i64)at * WEIGHTS);
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
        weights_ring.wait(step - begin);
        copies_wait<AHEAD - 1>();
        show_to_wgmma();
        __syncthreads();
        if (step - begin >= 2) weights_ring.done(step - begin - 2);
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

    finish(out, acc, (Acc *)ring, target, columns + group * ACROSS, bias + group * BN, lookup, rank);
    if (PAIR > 1) cluster_sync();               // the others may still come to this block's barriers
    if (SPLIT > 1) cluster_sync();  // the others may still read
}
