// Shared by conv.cu and region.cu, the convolutions for many pixels: implicit GEMM on binary tensor cores, persistent.
//
// A block keeps the weights of 8 NT WARPS_N channels in shared memory, in fragment order, and walks over stages: some
// images, or a strip of rows of one. Its GROUPS groups of WARPS_M x WARPS_N warps walk by themselves, so that one packs
// bits while the other multiplies. In shared memory a stage is planes of 128 channels; a plane has 16 bytes a pixel, rows
// with the zeros of the padding around them. While a stage is worked on, the next one is fetched.
//
// The host defines SIDE, KERNEL (3), PAD, POOL, PLANES (1 or even), SIDE_SUMS, OUT_WORDS, IMAGES and ROWS (rows of sums)
// a stage, WIDTH (pixels a row in shared memory), PLANE (pixels a plane there), MT (tiles of 16 rows of a warp), NT (of 8
// columns, 4 or 8), WARPS_M, WARPS_N, GROUPS, BLOCKS_N, CLASSES, SPLIT (even columns first, odd ones after).

constexpr int ROWS_IN = ROWS + KERNEL - 1;
constexpr int STRIPS = SIDE_SUMS / ROWS;
constexpr int SIDE_OUT = POOL ? SIDE_SUMS / 2 : SIDE_SUMS;
constexpr int BORDERS = (PAD + 1) * (PAD + 1);
constexpr int PAIRS = PLANES > 1 ? PLANES / 2 : 1;
constexpr int STEPS = PLANES == 1 ? 4 : KERNEL * KERNEL * PAIRS;  // of 256 products
constexpr int HALF_STEP = PLANES == 1;                            // and one of 128
constexpr int WEIGHTS = (2 * STEPS + HALF_STEP) * NT / 4 * 32 * WARPS_N;
constexpr int TABLE = CLASSES * WARPS_N * NT;
constexpr int STAGE = PLANES * PLANE;
constexpr int PIXELS = IMAGES * ROWS_IN * WIDTH;
constexpr int GROUP_THREADS = 32 * WARPS_M * WARPS_N;
constexpr int THREADS = GROUPS * GROUP_THREADS;

// Where column x of the padded image is in a row of shared memory.
__device__ __forceinline__ constexpr int column(int x) { return SPLIT ? (x & 1) * (SIDE / 2 + PAD) + (x >> 1) : x; }

__device__ __forceinline__ void group_barrier(int group) {
    if (GROUPS == 1)
        __syncthreads();
    else
        asm volatile("bar.sync %0, %1;" : : "r"(group + 1), "n"(GROUP_THREADS) : "memory");
}

// What does not depend on the layer before: weights and limits of the block, and zeros.
__device__ __forceinline__ void prepare(uint4 *own_weights, uint4 *own_table, uint4 *stages, const uint4 *weights,
                                        const uint4 *table, int block_n, int thread) {
    for (int e = threadIdx.x; e < WEIGHTS; e += THREADS)
        copy16(own_weights + e, weights + (long long)block_n * WEIGHTS + e, true);
    for (int e = threadIdx.x; e < TABLE; e += THREADS) copy16(own_table + e, table + block_n * TABLE + e, true);
    for (int e = thread; e < 2 * STAGE; e += GROUP_THREADS) stages[e] = make_uint4(0, 0, 0, 0);
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

// Ones of each pixel, in both halves of a word.
__device__ __forceinline__ void count(uint *ones, const uint4 *stage, int thread) {
    for (int e = thread; e < PIXELS; e += GROUP_THREADS) {
        int sum = 0;
        UNROLLED for (int p = 0; p < PLANES; ++p) {
            const uint4 v = stage[p * PLANE + e];
            sum += __popc(v.x) + __popc(v.y) + __popc(v.z) + __popc(v.w);
        }
        ones[e] = sum * 65537;
    }
}

// Weights of a step: two registers for each tile of 8 channels.
struct Weights {
    uint4 b[NT / 2];
};

__device__ __forceinline__ void load(Weights &w, const uint4 *from, int step) {
    UNROLLED for (int v = 0; v < NT / 2; ++v) w.b[v] = from[(step * WARPS_N * (NT / 2) + v) * 32];
}

__device__ __forceinline__ void multiply(int (&acc)[NT][4], const uint (&a)[4], const Weights &w) {
    UNROLLED for (int v = 0; v < NT / 2; ++v) {
        bmma256(acc[2 * v], a, w.b[v].x, w.b[v].y);
        bmma256(acc[2 * v + 1], a, w.b[v].z, w.b[v].w);
    }
}

// The step of 128 products: one register a tile, a quarter of `from` after another.
__device__ __forceinline__ void multiply_half(int (&acc)[MT][NT][4], const uint (&a)[MT][4], const uint4 *from) {
    UNROLLED for (int v = 0; v < NT / 4; ++v) {
        const uint4 b = from[v * 32];
        UNROLLED for (int i = 0; i < MT; ++i) {
            bmma128(acc[i][4 * v], a[i], b.x);
            bmma128(acc[i][4 * v + 1], a[i], b.y);
            bmma128(acc[i][4 * v + 2], a[i], b.z);
            bmma128(acc[i][4 * v + 3], a[i], b.w);
        }
    }
}

// Halves of NT pairs of channels of one row: limits and ones against the sums (g, 2 t) and (g, 2 t + 1) of each tile.
// With `add` the results are joined to those that are there, as pooling does.
__device__ __forceinline__ void compare(uint (&halves)[NT], const int (&acc)[NT][4], int h, const uint4 *limits, uint twice,
                                        bool add) {
    UNROLLED for (int v = 0; v < NT / 4; ++v) {
        const uint4 four = limits[v];
        const uint limit[4] = {four.x, four.y, four.z, four.w};
        UNROLLED for (int k = 0; k < 4; ++k) {
            const int j = 4 * v + k;
            const uint two = limit[k] - twice + 2 * acc[j][h] + 131072 * acc[j][h + 1];
            halves[j] = add ? halves[j] | two : two;
        }
    }
}
