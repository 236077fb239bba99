// A 3 x 3 binary convolution with everything fused, for many pixels, where rows and columns of sums are multiples of 8.
//
// A warp takes a region of 8 columns x 2 MT rows. Row 16 i + 8 h + g of it is the pixel at row i + MT h, column g: what
// ldmatrix reads for matrix i and the kernel's row ky is then what it reads for matrix i + ky and row 0, so that MT + 2
// reads serve 3 MT products of matrices.

constexpr int ACROSS = SIDE_SUMS / 8;
constexpr int DOWN = ROWS / (2 * MT);
constexpr int REGIONS = IMAGES * ACROSS * DOWN;
constexpr int UNITS = IMAGES * ROWS * SIDE_SUMS;
constexpr int GROUP_SHARED = 2 * STAGE + (PIXELS + UNITS + 3) / 4;
constexpr int OUT_ROWS = POOL ? MT : 2 * MT;
constexpr int BATCH = 16 / NT;  // rows whose bits lanes exchange at once

// Fields of bits that two lanes need crosswise: a lane keeps those of `keep` and takes the others of the other, turned.
__device__ __forceinline__ uint exchange(uint own, int lanes, int turn, uint keep) {
    const uint other = __shfl_xor_sync(~0u, own, lanes);
    return (own & keep) | (__funnelshift_r(other, other, turn) & ~keep);
}

// Sums of the region whose first pixel, as this lane reads it, is at `base`.
__device__ __forceinline__ void products(int (&acc)[MT][NT][4], uint base, const uint4 *own, const uint4 *own_half, int lane) {
    uint a[MT + 2][4];
    if constexpr (PLANES > 1) {
        Weights w[2];
        load(w[0], own, 0);
        UNROLLED for (int j = 0; j < MT; ++j) ldmatrix4(a[j], base + 16 * (j * WIDTH));
        UNROLLED for (int u = 0; u < 3 * PAIRS; ++u) {
            const int at = u / 3 * 2 * PLANE + u % 3, next = (u + 1) / 3 * 2 * PLANE + (u + 1) % 3;
            UNROLLED for (int ky = 0; ky < 3; ++ky) {
                const int step = 3 * u + ky;
                if (step + 1 < STEPS) load(w[(step + 1) % 2], own, step + 1);
                if (ky < 2) ldmatrix4(a[MT + ky], base + 16 * ((MT + ky) * WIDTH + at));
                UNROLLED for (int i = 0; i < MT; ++i) multiply(acc[i], a[i + ky], w[step % 2]);
            }
            if (u + 1 < 3 * PAIRS)
                UNROLLED for (int j = 0; j < MT; ++j) ldmatrix4(a[j], base + 16 * (j * WIDTH + next));
        }
    } else {
        // Columns 0 and 1 of the kernel together; of column 2 rows 0 and 1 together, then row 2.
        Weights w;
        UNROLLED for (int j = 0; j < MT + 2; ++j) ldmatrix4(a[j], base + 16 * (j * WIDTH));
        UNROLLED for (int ky = 0; ky < 3; ++ky) {
            load(w, own, ky);
            UNROLLED for (int i = 0; i < MT; ++i) multiply(acc[i], a[i + ky], w);
        }
        load(w, own, 3);
        uint b[MT][4];
        const uint below = base + lane / 16 * (16 * (WIDTH - 1)) + 32;
        UNROLLED for (int i = 0; i < MT; ++i) ldmatrix4(b[i], below + 16 * (i * WIDTH));
        UNROLLED for (int i = 0; i < MT; ++i) multiply(acc[i], b[i], w);
        UNROLLED for (int i = 0; i < MT; ++i) ldmatrix2(b[i], base + 16 * ((i + 2) * WIDTH + 2));
        multiply_half(acc, b, own_half);
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
    uint *const windows = ones + PIXELS;              // ones of each window

    let_next_start();
    prepare(own_weights, own_table, stages, weights, table, block_n, thread);
    __syncthreads();
    wait_for_inputs();

    const int stages_all = (n + IMAGES - 1) / IMAGES * STRIPS, stride = gridDim.x / BLOCKS_N * GROUPS;
    int index = blockIdx.x / BLOCKS_N * GROUPS + group, buffer = 0;
    if (index < stages_all) fetch(stages, in, index, n, thread);
    copies_done();
    __syncthreads();
    const uint4 *const own = own_weights + warp_n * (NT / 2 * 32) + lane;
    const uint4 *const own_half = own_weights + (STEPS * WARPS_N * 2 + warp_n) * (NT / 4 * 32) + lane;
    const int crossed = NT == 8 ? t & 1 : t >> 1;
    const int turn4 = crossed ? 28 : 4, turn2 = t & 1 ? 30 : 2;
    const uint keep4 = crossed ? 0x0F0F0F0Fu : 0xF0F0F0F0u, keep2 = t & 1 ? 0x33333333u : 0xCCCCCCCCu;

    for (; index < stages_all; index += stride, buffer ^= 1) {
        copies_done();
        group_barrier(group);
        const uint4 *const stage = stages + buffer * STAGE;
        if (index + stride < stages_all) fetch(stages + (buffer ^ 1) * STAGE, in, index + stride, n, thread);
        count(ones, stage, thread);
        group_barrier(group);
        for (int e = thread; e < UNITS; e += GROUP_THREADS) {
            const int x = e % SIDE_SUMS, line = e / SIDE_SUMS, y = line % ROWS, image = line / ROWS;
            const uint *const from = ones + (image * ROWS_IN + y) * WIDTH + x;
            uint sum = 0;
            UNROLLED for (int ky = 0; ky < 3; ++ky) UNROLLED for (int kx = 0; kx < 3; ++kx) sum += from[ky * WIDTH + kx];
            windows[e] = sum;
        }
        group_barrier(group);

        const int top = index % STRIPS * ROWS, first = index / STRIPS * IMAGES;
        for (int region = warp_m; region < REGIONS; region += WARPS_M) {
            const int image = region / (ACROSS * DOWN), y = region / ACROSS % DOWN * (2 * MT), x = region % ACROSS * 8;
            const int pixel = (image * ROWS_IN + y + (lane >> 3 & 1) * MT) * WIDTH + x + lane % 8;
            int acc[MT][NT][4] = {};
            products(acc, address(stage + pixel + lane / 16 * (PLANES > 1 ? PLANE : 1)), own, own_half, lane);

            const uint *const window = windows + (image * ROWS + y) * SIDE_SUMS + x + g;
            const int across = border(x + g);
            uint word = 0;
            UNROLLED for (int r = 0; r < OUT_ROWS; ++r) {
                uint halves[NT];
                UNROLLED for (int part = 0; part < (POOL ? 2 : 1); ++part) {
                    const int row = POOL ? 2 * r + part : r;
                    // Only the first and the last row of a region may lose taps above or below.
                    const int lost = row == 0 || row == 2 * MT - 1 ? border(top + y + row) : 0;
                    const uint4 *const limits = own_table + (((lost * BORDERS + across) * WARPS_N + warp_n) * 4 + t) * (NT / 4);
                    compare(halves, acc[row % MT], 2 * (row / MT), limits, window[row * SIDE_SUMS], part > 0);
                }
                const uint bits = top_bits<NT>(halves) >> NT / 2 * (r % BATCH);
                word = r % BATCH ? word | bits : bits;
                if (r % BATCH == BATCH - 1 || r == OUT_ROWS - 1) {
                    if (POOL) word |= __shfl_xor_sync(~0u, word, 4);
                    if (NT == 4) word = exchange(word, 1, turn2, keep2);
                    word = exchange(word, NT == 8 ? 1 : 2, turn4, keep4);
                    // A lane now has all bits of one row of the batch.
                    const int line = r / BATCH * BATCH + (NT == 8 ? t & 1 : t);
                    const int oy = (POOL ? (top + y) / 2 : top + y) + line, ox = POOL ? (x + g) / 2 : x + g;
                    const long long unit = ((long long)(first + image) * SIDE_OUT + oy) * SIDE_OUT + ox;
                    if (line < OUT_ROWS && first + image < n && !(POOL && g & 1))
                        out[unit * OUT_WORDS + (block_n * WARPS_N + warp_n) * (NT / 4) + word_of<NT>(t)] = word;
                }
            }
        }
    }
}
