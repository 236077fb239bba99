// A transposed convolution as an implicit matrix product on `wgmma`, for inputs of at least 8 x 8 positions.
//
// A block takes a region of positions, with what its taps reach beyond it: all channels of those inputs are read once, and
// serve all taps of all phases. In shared memory they lie as planes of 16 bytes a position, without a swizzle, so that 8
// positions of a row are what wgmma wants for 8 rows of its operand, and another tap is another start address: 64 rows are
// 8 rows of the region of 8 positions each. Weights are those of `mma_gather.cu`, and come step by step through a ring: group
// after group, tap after tap, chunk of 128 bytes of channels after chunk. One warp fetches them.
//
// The host defines CIN, IZ IY IX, OZ OY OX, SZ SY SX, QZ QY QX, OUT, GROUPS, TAPS, BLOCKS as for `mma_gather.cu`, and TI (items of a
// region), TZ TY TX (its positions, TY and TX multiples of 8), LZ LY LX (largest reach), HZ HY HX (positions that are
// reached), BZ BY BX (regions of an item), SETS (blocks of a region that share its groups).

constexpr int THREADS = WORKERS + 32;
constexpr int CHUNKS = (CIN * ES + 127) / 128;
constexpr int DEEP = CHUNKS > 1 ? 4 : (CIN * ES + 31) / 32;       // instructions of a step
constexpr int UNITS = CHUNKS > 1 ? 8 * CHUNKS : 2 * DEEP;         // of 16 bytes of a position
constexpr int POSITIONS = TI * HZ * HY * HX;
constexpr int PLANE = (POSITIONS + 6) / 8 * 8 + 1;                // odd: units of a position are in different banks
constexpr int KEEP = (UNITS * PLANE * 16 + 1023) / 1024 * 1024;   // bytes of the inputs

// Operand at `at`: 8 rows of 16 bytes together, the next 8 rows HX positions further, the next 16 bytes a plane further.
__device__ __forceinline__ u64 region_operand(uint at) { return (u64)(at >> 4 & 0x3FFF) | (u64)PLANE << 16 | (u64)HX << 32; }

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    halo(const uint4 *in, unsigned char *out, const unsigned char *__restrict__ weights, const int *__restrict__ table,
         const int *__restrict__ columns, const Acc *__restrict__ bias, const signed char *__restrict__ lookup, int n) {
    extern __shared__ uint4 shared[];
    char *const base = (char *)shared + (-address(shared) & 1023);
    char *const room = base + KEEP + STAGES * WEIGHTS;
    i64 *const target = (i64 *)(room + LEFT);
    Acc *const own_bias = (Acc *)(target + BM);
    int *const own_columns = (int *)(own_bias + GROUPS * BN);
    int *const shift = own_columns + GROUPS * BN;  // of each group's taps: positions from that of the largest reaches
    const Ring ring{address(base) + KEEP, WEIGHTS, address(shift + (GROUPS * TAPS + 3) / 4 * 4)};

    const int set = blockIdx.x % SETS, region = blockIdx.x / SETS;
    const int block = region % (BZ * BY * BX), first_item = region / (BZ * BY * BX) * TI;
    const int z0 = block / (BY * BX) * TZ, y0 = block / BX % BY * TY, x0 = block % BX * TX;
    const int first_group = set * GROUPS / SETS, last_group = (set + 1) * GROUPS / SETS;
    let_next_start();

    if (threadIdx.x == 0) ring.start(0);
    for (int e = threadIdx.x; e < GROUPS * TAPS; e += THREADS) {
        const int tap = table[e / TAPS * (HEAD + TAPS) + HEAD + e % TAPS];
        shift[e] = (((LZ - tap_z(tap)) * HY + LY - tap_y(tap)) * HX + LX - tap_x(tap)) * 16;
    }
    for (int e = threadIdx.x; e < GROUPS * BN; e += THREADS) own_bias[e] = bias[e];
    for (int e = threadIdx.x; e < GROUPS * ACROSS; e += THREADS) own_columns[e] = columns[e];
    for (int r = threadIdx.x; r < BM; r += THREADS) {
        const int tile = r / 64, x = x0 + tile % (TX / 8) * 8 + r % 8, y = y0 + tile / (TX / 8) % (TY / 8) * 8 + r / 8 % 8;
        const int z = z0 + tile / (TX / 8 * (TY / 8)) % TZ, item = first_item + tile / (TX / 8 * (TY / 8) * TZ);
        target[r] = item < n && z < QZ && y < QY && x < QX ? ((((i64)item * OZ + z * SZ) * OY + y * SY) * OX + x * SX) * OUT : -1;
    }
    __syncthreads();

    if (threadIdx.x >= WORKERS) {
        wait_for_inputs();
        int s = 0;
        if (threadIdx.x == WORKERS)
            for (int group = first_group; group < last_group; ++group) {
                const int *const own = table + group * (HEAD + TAPS);
                const unsigned char *from = weights + (i64)own[1] * WEIGHTS;
                for (int left = own[0] * CHUNKS; left; --left, ++s, from += WEIGHTS) {
                    ring.wait_empty(s);
                    ring.fetch(s, from);
                }
            }
    } else {
        wait_for_inputs();
        for (int e = threadIdx.x; e < POSITIONS * UNITS; e += WORKERS) {
            const int unit = e % UNITS, p = e / UNITS;
            const int x = x0 - LX + p % HX, y = y0 - LY + p / HX % HY, z = z0 - LZ + p / (HX * HY) % HZ;
            const int item = first_item + p / (HX * HY * HZ);
            const bool inside = item < n && (uint)z < IZ && (uint)y < IY && (uint)x < IX &&
                                (CIN * ES % (UNITS * 16) == 0 || unit < CIN * ES / 16);
            const i64 at = (((i64)item * IZ + z) * IY + y) * IX + x;
            copy<16>(address(base) + (unit * PLANE + p) * 16, in + (inside ? at * (CIN * ES / 16) + unit : 0), inside);
        }
        copies_commit();
        copies_wait<0>();
        show_to_wgmma();
        some_sync(1, WORKERS);

        uint start[MT];
        UNROLLED for (int i = 0; i < MT; ++i) {
            const int tile = threadIdx.x / 128 * MT + i, x = tile % (TX / 8) * 8, y = tile / (TX / 8) % (TY / 8) * 8;
            const int line = tile / (TX / 8 * (TY / 8));  // item, depth
            start[i] = address(base) + (((line / TZ * HZ + line % TZ) * HY + y) * HX + x) * 16;
        }
        int s = 0;
        for (int group = first_group; group < last_group; ++group) {
            const int *const own = table + group * (HEAD + TAPS);
            const int taps = own[0];
            Acc acc[MT][BN / 2];
            for (int tap = 0, first = 1; tap < taps; ++tap)
                for (int chunk = 0; chunk < CHUNKS; ++chunk, ++s, first = 0) {
                    const uint a = shift[group * TAPS + tap] + chunk * (8 * PLANE * 16), b = ring.at + s % STAGES * WEIGHTS;
                    ring.wait_full(s);
                    wgmma_begin();
                    UNROLLED for (int k = 0; k < DEEP; ++k) UNROLLED for (int i = 0; i < MT; ++i)
                        wgmma(acc[i], region_operand(start[i] + a + k * (2 * PLANE * 16)), operand(b + k * 32), !first || k > 0);
                    wgmma_commit();
                    wgmma_wait<1>();
                    if (!first) ring.done(s - 1);
                }
            wgmma_wait<0>();
            ring.done(s - 1);
            finish(out, acc, room, target, own_columns + group * ACROSS, own_bias + group * BN, lookup);
        }
    }
}
