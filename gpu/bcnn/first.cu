// The first convolution, of numbers of several bits, with threshold and packing: int8 tensor cores.
//
// In shared memory a pixel is a word: its up to three channels, one byte each, and a zero. Nine taps of a window are
// nine words, one more than an instruction of 32 products takes: the channels of the ninth go into the spare bytes of the
// first three. Four of the other five spare bytes are the numbers 127, 127, 127 and 1, whose weights add 0x8000 -
// threshold to a sum: it stays inside 16 bits, and their top bit is the result.
//
// The host defines SIDE, KERNEL (3), PAD, POOL, CHANNELS, SIDE_SUMS, OUT_WORDS, ROWS (rows of sums a stage), WIDTH (words
// a row in shared memory), MT, NT, WARPS, BLOCKS_N. Rows of a tile are numbered as in conv.cu.

constexpr int ROWS_IN = ROWS + KERNEL - 1;
constexpr int STRIPS = SIDE_SUMS / ROWS;
constexpr int SIDE_OUT = POOL ? SIDE_SUMS / 2 : SIDE_SUMS;
constexpr int UNITS = (POOL ? ROWS / 2 : ROWS) * SIDE_OUT;
constexpr int TILE = POOL ? 4 * MT : 16 * MT;
constexpr int TILES = (UNITS + TILE - 1) / TILE;
constexpr int PARTS = POOL ? 4 : 1;
constexpr int THREADS = 32 * WARPS;
constexpr int QUADS = ROWS_IN * SIDE / 4;  // four pixels are CHANNELS words of input
constexpr int TURNS = (QUADS + THREADS - 1) / THREADS;

__device__ __forceinline__ void fetch(uint (&raw)[TURNS][CHANNELS], const uint *in, int index) {
    const uint *const from = in + (long long)(index / STRIPS) * (SIDE * SIDE * CHANNELS / 4);
    const int top = index % STRIPS * ROWS - PAD;
    UNROLLED for (int turn = 0; turn < TURNS; ++turn) {
        const int e = threadIdx.x + turn * THREADS, y = top + e / (SIDE / 4), quad = e % (SIDE / 4);
        const bool valid = e < QUADS && (uint)y < SIDE;
        UNROLLED for (int c = 0; c < CHANNELS; ++c)
            raw[turn][c] = valid ? from[(y * (SIDE / 4) + quad) * CHANNELS + c] : 0;
    }
}

__device__ __forceinline__ void spread(uint *stage, const uint (&raw)[TURNS][CHANNELS]) {
    UNROLLED for (int turn = 0; turn < TURNS; ++turn) {
        const int e = threadIdx.x + turn * THREADS;
        if (e >= QUADS) break;
        uint *const to = stage + e / (SIDE / 4) * WIDTH + PAD + e % (SIDE / 4) * 4;
        UNROLLED for (int p = 0; p < 4; ++p) {
            uint word = 0;
            UNROLLED for (int c = 0; c < CHANNELS; ++c) {
                const int at = p * CHANNELS + c;
                word |= (raw[turn][at / 4] >> 8 * (at % 4) & 0xFF) << 8 * c;
            }
            to[p] = word;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 16 / WARPS)
    layer(const uint *in, uint *out, const uint2 *__restrict__ weights, int n) {
    __shared__ uint stages[2][ROWS_IN * WIDTH];
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, warp = threadIdx.x / 32;
    const int block_n = blockIdx.x % BLOCKS_N;
    let_next_start();
    uint2 b[NT];
    UNROLLED for (int j = 0; j < NT; ++j) b[j] = weights[(block_n * NT + j) * 32 + lane];
    for (int e = threadIdx.x; e < 2 * ROWS_IN * WIDTH; e += THREADS) stages[0][e] = 0;
    __syncthreads();
    wait_for_inputs();

    const int count = n * STRIPS, stride = gridDim.x / BLOCKS_N;
    const int tap0 = t / 3 * WIDTH + t % 3, tap1 = (t + 4) / 3 * WIDTH + (t + 4) % 3, ninth = 2 * WIDTH + 2;
    const uint select = (4 + t) << 12 | 0x210, spare = (t < 3 ? 127u : 1u) << 24;
    int index = blockIdx.x / BLOCKS_N, buffer = 0;
    uint raw[TURNS][CHANNELS];
    if (index < count) {
        fetch(raw, in, index);
        spread(stages[0], raw);
    }
    for (; index < count; index += stride, buffer ^= 1) {
        __syncthreads();
        const bool more = index + stride < count;
        if (more) fetch(raw, in, index + stride);
        const uint *const stage = stages[buffer];
        const long long base = (long long)index * UNITS;
        for (int tile = warp; tile < TILES; tile += WARPS) {
            int acc[MT][NT][4];
            UNROLLED for (int i = 0; i < MT; ++i) {
                uint a[4];
                UNROLLED for (int h = 0; h < 2; ++h) {
                    const int q = 2 * i + h;
                    const int unit = min(UNITS - 1, tile * TILE + (POOL ? q / 4 * 8 : 8 * q) + g);
                    const int y = POOL ? unit / SIDE_OUT * 2 + (q & 1) : unit / SIDE_OUT;
                    const int x = POOL ? unit % SIDE_OUT * 2 + (q >> 1 & 1) : unit % SIDE_OUT;
                    const uint *const from = stage + y * WIDTH + x;
                    a[h] = __byte_perm(from[tap0], from[ninth], select);
                    a[2 + h] = from[tap1] | spare;
                }
                UNROLLED for (int j = 0; j < NT; ++j) imma32(acc[i][j], a, b[j].x, b[j].y);
            }
            UNROLLED for (int r = 0; r < 2 * MT / PARTS; ++r) {
                uint y[NT];
                UNROLLED for (int part = 0; part < PARTS; ++part) {
                    const int q = r * PARTS + part, i = q / 2, h = 2 * (q % 2);
                    UNROLLED for (int j = 0; j < NT; ++j) {
                        const uint two = acc[i][j][h] + 65536 * acc[i][j][h + 1];
                        y[j] = part == 0 ? two : y[j] | two;
                    }
                }
                const uint word = pack<NT>(y, t);
                const int unit = tile * TILE + 8 * r + g;
                if (stores<NT>(t) && unit < UNITS)
                    out[(base + unit) * OUT_WORDS + block_n * (NT / 4) + word_of<NT>(t)] = word;
            }
        }
        if (more) spread(stages[buffer ^ 1], raw);
    }
}
