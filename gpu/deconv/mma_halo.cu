// A transposed convolution as an implicit matrix product on `wgmma`, for inputs of at least 8 x 8 positions.
//
// A block takes a region of positions, with what its taps reach beyond it: 128 bytes of channels of those inputs are read
// once, and serve all taps. In shared memory they lie as planes of 16 bytes a position, without a swizzle, so that 8
// positions of a row are what wgmma wants for 8 rows of its operand, and another tap is another start address: 64 rows are
// 8 rows of the region of 8 positions each. Weights are those of `mma_gather.cu`, and come step by step: chunk of channels
// after chunk, tap after tap.
//
// The host defines CIN, IZ IY IX, OZ OY OX, SZ SY SX, OUT, GROUPS, TAPS, BN, MT, WGS, STAGES and AHEAD as for
// `mma_gather.cu`, and TI (items of a region), TZ TY TX (its positions, TY and TX multiples of 8), EZ EY EX (how far reaches
// of a group lie apart), BZ BY BX (regions of an item), KEPT (chunks of inputs in shared memory, 1 or 2).

constexpr int CHUNKS = (CIN * ES + 127) / 128;
constexpr int DEEP = CHUNKS > 1 ? 4 : (CIN * ES + 31) / 32;      // instructions of a step
constexpr int UNITS = CHUNKS > 1 ? 8 : (CIN * ES + 31) / 32 * 2;  // of 16 bytes of a position
constexpr int HZ = TZ + EZ, HY = TY + EY, HX = TX + EX, POSITIONS = TI * HZ * HY * HX;
constexpr int PLANE = (POSITIONS + 6) / 8 * 8 + 1;               // odd: units of a position are in different banks
constexpr int KEEP = (UNITS * PLANE * 16 + 1023) / 1024 * 1024;  // bytes of a chunk of inputs
constexpr int RING = KEPT * KEEP + STAGES * WEIGHTS > BM * PITCH * 4 ? KEPT * KEEP + STAGES * WEIGHTS : BM * PITCH * 4;

// Operand at `at`: 8 rows of 16 bytes together, the next 8 rows HX positions further, the next 16 bytes a plane further.
__device__ __forceinline__ u64 region_operand(uint at) { return (u64)(at >> 4 & 0x3FFF) | (u64)PLANE << 16 | (u64)HX << 32; }

extern "C" __global__ void CLUSTER __launch_bounds__(THREADS, BLOCKS)
    halo(const uint4 *in, unsigned char *out, const uint4 *__restrict__ weights, const int *__restrict__ table,
         const int *__restrict__ columns, const Acc *__restrict__ bias, const signed char *__restrict__ lookup, int n) {
    extern __shared__ uint4 shared[];
    char *const ring = (char *)shared + (-address(shared) & 1023);
    i64 *const target = (i64 *)(ring + RING);
    int *const shift = (int *)(target + BM);  // of each tap: positions from that of the largest reaches

    const Ring weights_ring{address(ring) + KEPT * KEEP, WEIGHTS, address(shift + (TAPS + 3) / 4 * 4), blockIdx.x % PAIR};
    const int group = blockIdx.x / PAIR % GROUPS, region = blockIdx.x / (PAIR * GROUPS) * PAIR + blockIdx.x % PAIR;
    const int block = region % (BZ * BY * BX), first_item = region / (BZ * BY * BX) * TI;
    const int z0 = block / (BY * BX) * TZ, y0 = block / BX % BY * TY, x0 = block % BX * TX;
    const int *const own = table + group * (HEAD + TAPS);
    const int taps = own[0], lz = own[5], ly = own[6], lx = own[7], steps = taps * CHUNKS;
    let_next_start();

    if (threadIdx.x < taps) {
        const int tap = own[HEAD + threadIdx.x];
        shift[threadIdx.x] = ((lz - tap_z(tap)) * HY + ly - tap_y(tap)) * HX + lx - tap_x(tap);
    }
    for (int r = threadIdx.x; r < BM; r += THREADS) {
        const int tile = r / 64, x = x0 + tile % (TX / 8) * 8 + r % 8, y = y0 + tile / (TX / 8) % (TY / 8) * 8 + r / 8 % 8;
        const int z = z0 + tile / (TX / 8 * (TY / 8)) % TZ, item = first_item + tile / (TX / 8 * (TY / 8) * TZ);
        const bool stored = item < n && z < own[2] && y < own[3] && x < own[4];
        target[r] = stored ? ((((i64)item * OZ + z * SZ) * OY + y * SY) * OX + x * SX) * OUT : -1;
    }

    weights_ring.start();

    const auto fetch_weights = [&](int step) {
        if (threadIdx.x) return;
        const int at = own[1] + step % taps * CHUNKS + step / taps;
        weights_ring.fetch(step, (const unsigned char *)weights + (i64)at * WEIGHTS);
    };
    const auto fetch = [&](int chunk) {
        const uint to = address(ring) + chunk % KEPT * KEEP;
        for (int e = threadIdx.x; e < POSITIONS * UNITS; e += THREADS) {
            const int unit = e % UNITS, p = e / UNITS;
            const int x = x0 - lx + p % HX, y = y0 - ly + p / HX % HY, z = z0 - lz + p / (HX * HY) % HZ;
            const int item = first_item + p / (HX * HY * HZ);
            const bool inside = item < n && (uint)z < IZ && (uint)y < IY && (uint)x < IX &&
                                (CIN * ES % (UNITS * 16) == 0 || chunk * 8 + unit < CIN * ES / 16);
            const i64 at = (((i64)item * IZ + z) * IY + y) * IX + x;
            copy<16>(to + (unit * PLANE + p) * 16, in + (inside ? at * (CIN * ES / 16) + chunk * 8 + unit : 0), inside);
        }
    };
    UNROLLED for (int s = 0; s < AHEAD; ++s)
        if (s < steps) fetch_weights(s);
    wait_for_inputs();
    fetch(0);
    copies_commit();
    UNROLLED for (int s = 1; s < AHEAD; ++s) copies_commit();

    const int warpgroup = threadIdx.x / 128;
    uint start[MT];  // of this warpgroup's tiles in a chunk
    UNROLLED for (int i = 0; i < MT; ++i) {
        const int tile = warpgroup * MT + i, x = tile % (TX / 8) * 8, y = tile / (TX / 8) % (TY / 8) * 8;
        const int line = tile / (TX / 8 * (TY / 8));  // item, depth
        start[i] = address(ring) + (((line / TZ * HZ + line % TZ) * HY + y) * HX + x) * 16;
    }
    Acc acc[MT][BN / 2];
    UNROLLED for (int i = 0; i < MT; ++i) UNROLLED for (int k = 0; k < BN / 2; ++k) acc[i][k] = 0;
    for (int step = 0, tap = 0, chunk = 0; step < steps; ++step) {
        weights_ring.wait(step);
        copies_wait<AHEAD - 1>();
        show_to_wgmma();
        __syncthreads();
        if (step >= 2) weights_ring.done(step - 2);
        const uint a = chunk % KEPT * KEEP + shift[tap] * 16;
        const uint b = address(ring) + KEPT * KEEP + step % STAGES * WEIGHTS;
        wgmma_begin();
        UNROLLED for (int k = 0; k < DEEP; ++k) UNROLLED for (int i = 0; i < MT; ++i)
            wgmma(acc[i], region_operand(start[i] + a + k * (2 * PLANE * 16)), operand(b + k * 32));
        wgmma_commit();
        wgmma_wait<1>();
        // What is overwritten was read two steps ago or earlier, and all threads have waited for that before the barrier.
        if (step + AHEAD < steps) fetch_weights(step + AHEAD);
        if (CHUNKS > 1 && tap == 1 && chunk + 1 < CHUNKS) fetch(chunk + 1);  // the host sees to AHEAD < taps
        copies_commit();
        if (++tap == taps) tap = 0, ++chunk;
    }
    wgmma_wait<0>();
    copies_wait<0>();
    __syncthreads();
    finish(out, acc, (Acc *)ring, target, columns + group * ACROSS, bias + group * BN, lookup, 0);
    if (PAIR > 1) cluster_sync();  // the others may still come to this block's barriers
}
