// A binary convolution or dense layer with everything fused, for few pixels: no shared memory before the sums.
//
// Each warp reads its fragments from global memory, 16 bytes a lane, and takes every WARPS-th group of 512 products; the
// sums of the warps meet in shared memory. A group is four chunks of 128 bits (a tap's plane of channels); lane t of a row
// or column holds chunk t, words 0 and 1 of it in the first instruction, 2 and 3 in the second: any order of the products
// serves, if weights and activations have the same. Ones of the window: another column, of ones.
//
// Row 8 q + g of a warp is pixel 8 q + g. Where pooling follows it is of window 8 (q / 4) + g the pixel at column q / 2,
// row q % 2; with one matrix of rows (MT = 1) of window g / 2 the pixel at column g % 2, row q.
//
// The host defines SIDE, KERNEL, PAD, POOL, PLANES, SIDE_SUMS, OUT, OUT_WORDS, MT (tiles of 16 rows), NT (of 8 columns),
// WARPS, BLOCKS_N, LAST (sums out).

constexpr int CHUNKS = KERNEL * KERNEL * PLANES;
constexpr int GROUPS = (CHUNKS + 3) / 4;
constexpr int TURNS = (GROUPS + WARPS - 1) / WARPS;
constexpr int AHEAD = TURNS * NT <= 16 ? TURNS : 1;
constexpr int SIDE_OUT = POOL ? SIDE_SUMS / 2 : SIDE_SUMS;
constexpr int TILE = POOL ? 4 * MT : 16 * MT;
constexpr bool HALVES = POOL && MT == 1;  // a window is in two lanes
constexpr int PARTS = POOL ? (HALVES ? 2 : 4) : 1;
constexpr int BORDERS = (PAD + 1) * (PAD + 1);
constexpr int VALUES = LAST ? 2 * NT : NT;  // of a row: sums, or pairs of them

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    layer(const uint4 *in, uint *out, const uint4 *__restrict__ weights, const uint *__restrict__ table, int n) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, warp = threadIdx.x / 32;
    const int block_n = blockIdx.x % BLOCKS_N;
    const long long first = (long long)(blockIdx.x / BLOCKS_N) * TILE, units = (long long)n * (SIDE_OUT * SIDE_OUT);
    let_next_start();

    // What does not depend on the layer before: weights, rows, limits.
    const uint4 *const own = weights + (long long)block_n * (GROUPS * NT * 32) + lane;
    uint4 b[AHEAD][NT];
    UNROLLED for (int turn = 0; turn < AHEAD; ++turn) UNROLLED for (int j = 0; j < NT; ++j)
        b[turn][j] = own[(min(turn * WARPS + warp, GROUPS - 1) * NT + j) * 32];
    const uint4 *row[2 * MT];
    int above[2 * MT], left[2 * MT];
    bool valid[2 * MT];
    UNROLLED for (int q = 0; q < 2 * MT; ++q) {
        const long long unit = first + (HALVES ? g / 2 : POOL ? q / 4 * 8 + g : 8 * q + g);
        valid[q] = unit < units;
        const int at = valid[q] ? (int)(unit % (SIDE_OUT * SIDE_OUT)) : 0;
        const long long image = valid[q] ? unit / (SIDE_OUT * SIDE_OUT) : 0;
        above[q] = (POOL ? at / SIDE_OUT * 2 + (q & 1) : at / SIDE_OUT) - PAD;
        left[q] = (POOL ? at % SIDE_OUT * 2 + (HALVES ? g & 1 : q >> 1 & 1) : at % SIDE_OUT) - PAD;
        row[q] = in + ((image * SIDE + above[q]) * SIDE + left[q]) * PLANES;
    }
    uint limits[2 * MT][VALUES];
    if (warp == 0) {
        UNROLLED for (int q = 0; q < 2 * MT; ++q) {
            const int kind = border(above[q] + PAD) * BORDERS + border(left[q] + PAD);
            UNROLLED for (int v = 0; v < VALUES; ++v)
                limits[q][v] = table[((kind * BLOCKS_N + block_n) * 4 + t) * VALUES + v];
        }
    }
    wait_for_inputs();

    int acc[MT][NT + 1][4] = {};
    UNROLLED for (int turn = 0; turn < TURNS; ++turn) {
        const int group = turn * WARPS + warp, chunk = 4 * group + t;
        if (GROUPS % WARPS && group >= GROUPS) continue;
        const int ky = chunk / PLANES / KERNEL, kx = chunk / PLANES % KERNEL;
        const int offset = (ky * SIDE + kx) * PLANES + chunk % PLANES;
        uint4 a[2 * MT];
        UNROLLED for (int q = 0; q < 2 * MT; ++q) {
            const bool inside = (CHUNKS % 4 == 0 || chunk < CHUNKS) && (uint)(above[q] + ky) < SIDE &&
                                (uint)(left[q] + kx) < SIDE && valid[q];
            a[q] = inside ? row[q][offset] : make_uint4(0, 0, 0, 0);
        }
        if (turn >= AHEAD)
            UNROLLED for (int j = 0; j < NT; ++j) b[0][j] = own[(group * NT + j) * 32];
        UNROLLED for (int i = 0; i < MT; ++i) {
            const uint4 low = a[2 * i], high = a[2 * i + 1];
            const uint one[4] = {low.x, high.x, low.y, high.y}, two[4] = {low.z, high.z, low.w, high.w};
            UNROLLED for (int j = 0; j < NT; ++j) {
                const uint4 w = b[turn < AHEAD ? turn : 0][j];
                bmma256(acc[i][j], one, w.x, w.y);
                bmma256(acc[i][j], two, w.z, w.w);
            }
            bmma256(acc[i][NT], one, ~0u, ~0u);
            bmma256(acc[i][NT], two, ~0u, ~0u);
        }
    }

    // What a warp adds to the values is linear in its sums, modulo 2^32.
    uint value[2 * MT][VALUES];
    UNROLLED for (int q = 0; q < 2 * MT; ++q) {
        const int i = q / 2, h = 2 * (q % 2);
        UNROLLED for (int j = 0; j < NT; ++j) {
            const int x = acc[i][j][h], y = acc[i][j][h + 1], ones = acc[i][NT][h];
            if (LAST)
                value[q][2 * j] = 4 * x - 2 * ones, value[q][LAST ? 2 * j + 1 : 0] = 4 * y - 2 * ones;
            else
                value[q][j] = 2 * x + 131072 * y - 65537 * ones;
        }
    }
    if (WARPS > 1) {
        constexpr int FOURS = 2 * MT * VALUES / 4;
        __shared__ uint4 sums[WARPS][FOURS][32];
        const uint *const flat = value[0];
        if (warp)
            UNROLLED for (int e = 0; e < FOURS; ++e)
                sums[warp][e][lane] = make_uint4(flat[4 * e], flat[4 * e + 1], flat[4 * e + 2], flat[4 * e + 3]);
        __syncthreads();
        if (warp) return;
        UNROLLED for (int e = 0; e < FOURS; ++e) UNROLLED for (int w = 1; w < WARPS; ++w) {
            const uint4 more = sums[w][e][lane];
            const uint four[4] = {more.x, more.y, more.z, more.w};
            UNROLLED for (int k = 0; k < 4; ++k) value[(4 * e + k) / VALUES][(4 * e + k) % VALUES] += four[k];
        }
    }

    UNROLLED for (int r = 0; r < 2 * MT / PARTS; ++r) {
        const long long unit = first + (HALVES ? g / 2 : 8 * r + g);
        if (LAST) {
            UNROLLED for (int v = 0; v < VALUES; ++v) {
                const int channel = (block_n * NT + v / 2) * 8 + 2 * t + v % 2;
                if (channel < OUT && unit < units) out[unit * OUT + channel] = limits[r][v] + value[r][v];
            }
        } else {
            uint y[NT];
            UNROLLED for (int part = 0; part < PARTS; ++part) UNROLLED for (int j = 0; j < NT; ++j) {
                const uint two = limits[r * PARTS + part][j] + value[r * PARTS + part][j];
                y[j] = part == 0 ? two : y[j] | two;
            }
            uint word = pack<NT>(y, t);
            if (HALVES) word |= __shfl_xor_sync(~0u, word, 4);
            if (stores<NT>(t) && unit < units) out[unit * OUT_WORDS + block_n * (NT / 4) + word_of<NT>(t)] = word;
        }
    }
}
