// A 3 x 3 binary convolution with everything fused, for many pixels and sides of any size.
//
// A warp does 16 MT pixels (4 MT windows of 4 where pooling follows) x 8 NT channels at a time. Row 16 i + 8 h + g of it
// is pixel 16 i + 8 h + g, or of window 8 (i / 2) + g the pixel at column i & 1, row h. Where pooling follows, even
// columns come first in shared memory: eight windows are neighbours there, and ldmatrix meets no bank twice.

constexpr int PARTS = POOL ? 4 : 1;
constexpr int ROWS_WARP = 16 * MT;
constexpr int UNITS = IMAGES * ROWS * SIDE_SUMS / PARTS;
constexpr int TILE = ROWS_WARP / PARTS * WARPS_M;
constexpr int TILES = (UNITS + TILE - 1) / TILE;
constexpr int SLOTS = TILES * ROWS_WARP * WARPS_M;
constexpr int GROUP_SHARED = 2 * STAGE + (PIXELS + 3 * SLOTS + 3) / 4;
// Lanes 16 to 31 of ldmatrix give the second 128 products: the next plane, or the tap one row below.
constexpr int SECOND = PLANES == 1 ? WIDTH : PLANE;

// From the pixel of tap (0, 0) to that of tap (ky, kx), where the pixel's own column is odd or even.
__device__ __forceinline__ constexpr int tap(int ky, int kx, int odd) {
    return ky * WIDTH + column(odd + kx) - column(odd);
}

__device__ __forceinline__ void activations(uint (&a)[MT][4], const uint *base, int step) {
    UNROLLED for (int i = 0; i < MT; ++i) {
        const int odd = POOL ? i & 1 : 0;
        if (PLANES > 1) {
            const int at = step / PAIRS, pair = step % PAIRS;
            ldmatrix4(a[i], base[i] + 16 * (tap(at / 3, at % 3, odd) + 2 * pair * PLANE));
        } else if (step < 3) {
            ldmatrix4(a[i], base[i] + 16 * tap(0, step, odd));
        } else {
            const int more = threadIdx.x & 16 ? 16 * (tap(0, 2, odd) - tap(0, 0, odd) - SECOND) : 0;
            ldmatrix4(a[i], base[i] + more + 16 * tap(2, 0, odd));
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    layer(const uint4 *in, uint *out, const uint4 *__restrict__ weights, const uint4 *__restrict__ table, int n) {
    extern __shared__ uint4 shared[];
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int group = threadIdx.x / GROUP_THREADS, thread = threadIdx.x % GROUP_THREADS;
    const int warp_n = thread / 32 % WARPS_N, warp_m = thread / 32 / WARPS_N;
    const int block_n = blockIdx.x % BLOCKS_N;
    uint4 *const own_weights = shared, *const own_table = shared + WEIGHTS;
    uint4 *const stages = own_table + TABLE + group * GROUP_SHARED;
    uint *const ones = (uint *)(stages + 2 * STAGE);  // of each pixel
    uint *const places = ones + PIXELS;               // of each row of a tile: pixel, row of the stage, border
    uint *const windows = places + SLOTS;             // of each row of a tile: ones of its window
    uint *const kinds = windows + SLOTS;              // of each row of a tile: class of its border

    let_next_start();
    prepare(own_weights, own_table, stages, weights, table, block_n, thread);
    for (int slot = thread; slot < SLOTS; slot += GROUP_THREADS) {
        const int q = slot % ROWS_WARP / 8;
        const int unit = min(UNITS - 1, POOL ? slot / ROWS_WARP * (ROWS_WARP / 4) + q / 4 * 8 + slot % 8 : slot);
        const int line = unit / SIDE_OUT, out_rows = POOL ? ROWS / 2 : ROWS, image = line / out_rows;
        const int y = POOL ? 2 * (line % out_rows) + (q & 1) : line % out_rows;
        const int x = POOL ? 2 * (unit % SIDE_OUT) + (q >> 1 & 1) : unit % SIDE_OUT;
        places[slot] = (image * ROWS_IN + y) * WIDTH + column(x) | y << 16 | border(x) << 24;
    }
    __syncthreads();
    wait_for_inputs();

    const int stages_all = (n + IMAGES - 1) / IMAGES * STRIPS, stride = gridDim.x / BLOCKS_N * GROUPS;
    int index = blockIdx.x / BLOCKS_N * GROUPS + group, buffer = 0;
    if (index < stages_all) fetch(stages, in, index, n, thread);
    copies_done();
    __syncthreads();
    for (; index < stages_all; index += stride, buffer ^= 1) {
        copies_done();
        group_barrier(group);
        const uint4 *const stage = stages + buffer * STAGE;
        if (index + stride < stages_all) fetch(stages + (buffer ^ 1) * STAGE, in, index + stride, n, thread);
        count(ones, stage, thread);
        group_barrier(group);
        const int top = index % STRIPS * ROWS;
        for (int slot = thread; slot < SLOTS; slot += GROUP_THREADS) {
            const uint place = places[slot];
            const uint *const from = ones + (place & 0xFFFF);
            const int odd = POOL ? slot / 16 & 1 : 0;
            uint sum = 0;
            UNROLLED for (int ky = 0; ky < KERNEL; ++ky) UNROLLED for (int kx = 0; kx < KERNEL; ++kx)
                sum += from[ky * WIDTH + (odd ? tap(0, kx, 1) : tap(0, kx, 0))];
            windows[slot] = sum;
            kinds[slot] = border(top + (place >> 16 & 0xFF)) * BORDERS + (place >> 24);
        }
        group_barrier(group);

        const long long first = (long long)(index / STRIPS) * (IMAGES * SIDE_OUT * SIDE_OUT) + index % STRIPS * UNITS;
        const int most = (int)min((long long)UNITS, (long long)n * (SIDE_OUT * SIDE_OUT) - first);
        for (int tile = 0; tile < TILES; ++tile) {
            const int slot = (tile * WARPS_M + warp_m) * ROWS_WARP;
            uint base[MT];
            UNROLLED for (int i = 0; i < MT; ++i)
                base[i] = address(stage + (places[slot + 16 * i + lane % 16] & 0xFFFF) + lane / 16 * SECOND);
            int acc[MT][NT][4] = {};
            const uint4 *const own = own_weights + warp_n * (NT / 2 * 32) + lane;
            uint a[2][MT][4];
            Weights w[2];
            activations(a[0], base, 0);
            load(w[0], own, 0);
            UNROLLED for (int step = 0; step < STEPS; ++step) {
                if (step + 1 < STEPS) {
                    activations(a[(step + 1) % 2], base, step + 1);
                    load(w[(step + 1) % 2], own, step + 1);
                }
                UNROLLED for (int i = 0; i < MT; ++i) multiply(acc[i], a[step % 2][i], w[step % 2]);
            }
            if (HALF_STEP) {
                UNROLLED for (int i = 0; i < MT; ++i) ldmatrix2(a[0][i], base[i] + 16 * tap(2, 1, POOL ? i & 1 : 0));
                multiply_half(acc, a[0], own_weights + (STEPS * WARPS_N * 2 + warp_n) * (NT / 4 * 32) + lane);
            }
            UNROLLED for (int row = 0; row < 2 * MT / PARTS; ++row) {
                uint halves[NT];
                UNROLLED for (int part = 0; part < PARTS; ++part) {
                    const int q = row * PARTS + part, at = slot + 8 * q + g;
                    const uint4 *const limits = own_table + ((kinds[at] * WARPS_N + warp_n) * 4 + t) * (NT / 4);
                    compare(halves, acc[q / 2], 2 * (q % 2), limits, windows[at], part > 0);
                }
                const uint word = pack<NT>(halves, t);
                const int unit = tile * TILE + warp_m * (ROWS_WARP / PARTS) + 8 * row + g;
                if (stores<NT>(t) && unit < most)
                    out[(first + unit) * OUT_WORDS + (block_n * WARPS_N + warp_n) * (NT / 4) + word_of<NT>(t)] = word;
            }
        }
    }
}
