// A binary convolution with everything fused, for many pixels: implicit GEMM on binary tensor cores.
//
// A block keeps the weights of 8 NT WARPS_N channels in shared memory, in fragment order, and walks over stages: some
// images or a strip of rows of one. Its GROUPS groups of WARPS_M x WARPS_N warps walk by themselves, so that one packs
// bits while the other multiplies. In shared memory a stage is planes of 128 channels; a plane has 16 bytes a pixel, rows
// with the padding of zeros around; where pooling follows, even columns come first and odd ones after, so that eight
// windows are neighbours and ldmatrix meets no bank twice.
//
// A warp does 16 MT pixels (4 MT windows of 4 where pooling follows) x 8 NT channels at a time. Row 16 i + 8 h + g of it
// is pixel 16 i + 8 h + g, or of window 8 (i / 2) + g the pixel at column i & 1, row h.
//
// The host defines SIDE, KERNEL, PAD, POOL, PLANES, SIDE_SUMS, OUT_WORDS, IMAGES and ROWS (rows of sums) a stage, WIDTH
// (pixels a row in shared memory), PLANE (pixels a plane there), MT, NT (4 or 8), WARPS_M, WARPS_N, GROUPS, BLOCKS_N,
// CLASSES.

constexpr int ROWS_IN = ROWS + KERNEL - 1;
constexpr int STRIPS = SIDE_SUMS / ROWS;
constexpr int SIDE_OUT = POOL ? SIDE_SUMS / 2 : SIDE_SUMS;
constexpr int UNITS = POOL ? IMAGES * (ROWS / 2) * SIDE_OUT : IMAGES * ROWS * SIDE_OUT;
constexpr int PARTS = POOL ? 4 : 1;
constexpr int ROWS_WARP = 16 * MT;
constexpr int TILE = ROWS_WARP / PARTS * WARPS_M;
constexpr int TILES = (UNITS + TILE - 1) / TILE;
constexpr int SLOTS = TILES * ROWS_WARP * WARPS_M;
constexpr int STEPS = PLANES == 1 ? 4 : KERNEL * KERNEL * PLANES / 2;
constexpr int HALF_STEP = PLANES == 1;
constexpr int WEIGHTS = (2 * STEPS + HALF_STEP) * NT / 4 * 32 * WARPS_N;
constexpr int TABLE = CLASSES * WARPS_N * NT;
constexpr int PAIRS = PLANES > 1 ? PLANES / 2 : 1;
constexpr int STAGE = PLANES * PLANE;
constexpr int PIXELS = IMAGES * ROWS_IN * WIDTH;
constexpr int GROUP_THREADS = 32 * WARPS_M * WARPS_N;
constexpr int THREADS = GROUPS * GROUP_THREADS;
constexpr int GROUP_SHARED = 2 * STAGE + (PIXELS + 2 * SLOTS + 3) / 4;
constexpr int PARITY = (SIDE + 2 * PAD) / 2;
// Lanes 16 to 31 of ldmatrix give the second 128 products: the next plane, or the tap one row below.
constexpr int SECOND = PLANES == 1 ? WIDTH : PLANE;

__device__ __forceinline__ constexpr int column(int x) { return POOL ? (x & 1) * PARITY + (x >> 1) : x; }
// From the pixel of tap (0, 0) to that of tap (ky, kx), where the pixel's own column is odd or even.
__device__ __forceinline__ constexpr int tap(int ky, int kx, int odd) {
    return ky * WIDTH + column(odd + kx) - column(odd);
}

__device__ __forceinline__ void group_barrier(int group) {
    if (GROUPS == 1)
        __syncthreads();
    else
        asm volatile("bar.sync %0, %1;" : : "r"(group + 1), "n"(GROUP_THREADS) : "memory");
}

__device__ __forceinline__ void fetch(uint4 *stage, const uint4 *in, int index, int n, int thread) {
    constexpr int FIRST_ROW = STRIPS == 1 ? PAD : 0, FETCHED = STRIPS == 1 ? SIDE : ROWS_IN;
    const int first = index / STRIPS * IMAGES, top = index % STRIPS * ROWS - PAD;
    const uint4 *from = in + (long long)first * (SIDE * SIDE * PLANES);
    for (int e = thread; e < IMAGES * FETCHED * SIDE * PLANES; e += GROUP_THREADS) {
        const int plane = e % PLANES, x = e / PLANES % SIDE, line = e / (PLANES * SIDE);
        const int row = line % FETCHED + FIRST_ROW, image = line / FETCHED, y = top + row;
        const bool valid = (uint)y < SIDE && first + image < n;
        copy16(stage + plane * PLANE + (image * ROWS_IN + row) * WIDTH + column(x + PAD),
               from + (valid ? ((image * SIDE + y) * SIDE + x) * PLANES + plane : 0), valid);
    }
}

struct Fragments {
    uint a[MT][4];
    uint4 b[NT / 2];
};

__device__ __forceinline__ void load(Fragments &f, const uint *base, const uint4 *weights, int step) {
    UNROLLED for (int v = 0; v < NT / 2; ++v) f.b[v] = weights[(step * WARPS_N * (NT / 2) + v) * 32];
    UNROLLED for (int i = 0; i < MT; ++i) {
        const int odd = POOL ? i & 1 : 0;
        if (PLANES > 1) {
            const int at = step / PAIRS, ky = at / KERNEL, kx = at % KERNEL, pair = step % PAIRS;
            ldmatrix4(f.a[i], base[i] + 16 * (tap(ky, kx, odd) + 2 * pair * PLANE));
        } else if (step < 3) {
            ldmatrix4(f.a[i], base[i] + 16 * tap(0, step, odd));
        } else {
            const int more = threadIdx.x & 16 ? 16 * (tap(0, 2, odd) - tap(0, 0, odd) - SECOND) : 0;
            ldmatrix4(f.a[i], base[i] + more + 16 * tap(2, 0, odd));
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    layer(const uint4 *in, uint *out, const uint4 *__restrict__ weights,
          const uint4 *__restrict__ table, int n) {
    extern __shared__ uint4 shared[];
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int group = threadIdx.x / GROUP_THREADS, thread = threadIdx.x % GROUP_THREADS;
    const int warp_n = thread / 32 % WARPS_N, warp_m = thread / 32 / WARPS_N;
    const int block_n = blockIdx.x % BLOCKS_N;
    uint4 *const own_weights = shared, *const own_table = shared + WEIGHTS;
    uint4 *const stages = own_table + TABLE + group * GROUP_SHARED;
    uint *const ones = (uint *)(stages + 2 * STAGE);  // of each pixel
    uint *const places = ones + PIXELS;               // of each row of a tile: pixel, row of the stage, border
    uint *const windows = places + SLOTS;             // of each row of a tile: ones of its window, class

    let_next_start();
    for (int e = threadIdx.x; e < WEIGHTS; e += THREADS)
        copy16(own_weights + e, weights + (long long)block_n * WEIGHTS + e, true);
    for (int e = threadIdx.x; e < TABLE; e += THREADS) copy16(own_table + e, table + block_n * TABLE + e, true);
    for (int e = thread; e < 2 * STAGE; e += GROUP_THREADS) stages[e] = make_uint4(0, 0, 0, 0);
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

    const int count = (n + IMAGES - 1) / IMAGES * STRIPS, stride = gridDim.x / BLOCKS_N * GROUPS;
    int index = blockIdx.x / BLOCKS_N * GROUPS + group, buffer = 0;
    if (index < count) fetch(stages, in, index, n, thread);
    copies_done();
    __syncthreads();
    for (; index < count; index += stride, buffer ^= 1) {
        copies_done();
        group_barrier(group);
        const uint4 *const stage = stages + buffer * STAGE;
        if (index + stride < count) fetch(stages + (buffer ^ 1) * STAGE, in, index + stride, n, thread);

        for (int e = thread; e < PIXELS; e += GROUP_THREADS) {
            int sum = 0;
            UNROLLED for (int p = 0; p < PLANES; ++p) {
                const uint4 v = stage[p * PLANE + e];
                sum += __popc(v.x) + __popc(v.y) + __popc(v.z) + __popc(v.w);
            }
            ones[e] = sum;
        }
        group_barrier(group);
        const int top = index % STRIPS * ROWS;
        for (int slot = thread; slot < SLOTS; slot += GROUP_THREADS) {
            const uint place = places[slot];
            const uint *const from = ones + (place & 0xFFFF);
            const int odd = POOL ? slot / 16 & 1 : 0;
            int sum = 0;
            UNROLLED for (int ky = 0; ky < KERNEL; ++ky) UNROLLED for (int kx = 0; kx < KERNEL; ++kx)
                sum += from[ky * WIDTH + (odd ? tap(0, kx, 1) : tap(0, kx, 0))];
            const int kind = border(top + (place >> 16 & 0xFF)) * (PAD + 1) * (PAD + 1) + (place >> 24);
            windows[slot] = sum | kind << 16;
        }
        group_barrier(group);

        const long long first = (long long)(index / STRIPS) * (IMAGES * SIDE_OUT * SIDE_OUT) + index % STRIPS * UNITS;
        const int most = (int)min((long long)UNITS, (long long)n * (SIDE_OUT * SIDE_OUT) - first);
        for (int tile = 0; tile < TILES; ++tile) {
            const int slot = (tile * WARPS_M + warp_m) * ROWS_WARP;
            uint base[MT];
            UNROLLED for (int i = 0; i < MT; ++i) {
                const int pixel = (places[slot + 16 * i + lane % 16] & 0xFFFF) + lane / 16 * SECOND;
                base[i] = address(stage + pixel);
            }
            int acc[MT][NT][4] = {};
            const uint4 *const w = own_weights + warp_n * (NT / 2 * 32) + lane;
            Fragments f[2];
            load(f[0], base, w, 0);
            UNROLLED for (int step = 0; step < STEPS; ++step) {
                if (step + 1 < STEPS) load(f[(step + 1) % 2], base, w, step + 1);
                const Fragments &now = f[step % 2];
                UNROLLED for (int v = 0; v < NT / 2; ++v) UNROLLED for (int i = 0; i < MT; ++i) {
                    bmma256(acc[i][2 * v], now.a[i], now.b[v].x, now.b[v].y);
                    bmma256(acc[i][2 * v + 1], now.a[i], now.b[v].z, now.b[v].w);
                }
            }
            if (HALF_STEP) {
                const uint4 *const last = own_weights + (STEPS * WARPS_N * 2 + warp_n) * (NT / 4 * 32) + lane;
                UNROLLED for (int v = 0; v < NT / 4; ++v) {
                    const uint4 b = last[v * 32];
                    UNROLLED for (int i = 0; i < MT; ++i) {
                        uint a[2];
                        ldmatrix2(a, base[i] + 16 * tap(2, 1, POOL ? i & 1 : 0));
                        bmma128(acc[i][4 * v], a, b.x);
                        bmma128(acc[i][4 * v + 1], a, b.y);
                        bmma128(acc[i][4 * v + 2], a, b.z);
                        bmma128(acc[i][4 * v + 3], a, b.w);
                    }
                }
            }
            UNROLLED for (int row = 0; row < 2 * MT / PARTS; ++row) {
                uint y[NT];
                UNROLLED for (int part = 0; part < PARTS; ++part) {
                    const int q = row * PARTS + part, i = q / 2, h = 2 * (q % 2);
                    const uint window = windows[slot + 8 * q + g];
                    const uint twice = __byte_perm(window, 0, 0x1010);
                    const uint4 *const limits = own_table + (((window >> 16) * WARPS_N + warp_n) * 4 + t) * (NT / 4);
                    UNROLLED for (int v = 0; v < NT / 4; ++v) {
                        const uint4 four = limits[v];
                        const uint limit[4] = {four.x, four.y, four.z, four.w};
                        UNROLLED for (int k = 0; k < 4; ++k) {
                            const int j = 4 * v + k;
                            const uint two = limit[k] - twice + 2 * acc[i][j][h] + 131072 * acc[i][j][h + 1];
                            y[j] = part == 0 ? two : y[j] | two;
                        }
                    }
                }
                const uint word = pack<NT>(y, t);
                const int unit = tile * TILE + warp_m * (ROWS_WARP / PARTS) + 8 * row + g;
                if (stores<NT>(t) && unit < most)
                    out[(first + unit) * OUT_WORDS + (block_n * WARPS_N + warp_n) * (NT / 4) + word_of<NT>(t)] = word;
            }
        }
    }
}
