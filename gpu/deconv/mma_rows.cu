// A transposed convolution of images with few output channels, whole rows at a time, without shared memory between
// products and outputs.
//
// A warp walks down a strip of an item. Each row of inputs (up to 16 MT of them are rows of A, read once, 16 bytes a lane)
// is multiplied with all kernel elements; products over rows add up in the sums of the output rows that they reach, which
// move on with the warp. Along a row they meet in the end: columns of a tile of 8 are what one input gives to the SX OUT
// neighbouring outputs of a position, and in tile j those of phase f belong to the position REACH[j][f] (-1, 0, 1) further,
// which is a shuffle.
//
// The host defines CIN, IY IX (sides of the input; IX <= 16 MT), OUT, SY, SX (strides; SX OUT <= 8, outputs are SY IY x SX
// IX), STRIP (rows of positions of a warp), LOW COUNT (of each phase of rows: smallest reach, how many reaches, as lists),
// FIRST (their first place in the sums), SLOTS (all of them), REACH, TILES (of columns), MT, WARPS, AHEAD (rows that a warp
// has under way; they wait in shared memory, where each lane reads what it has copied itself; 0: in registers).

constexpr int THREADS = 32 * WARPS, STRIPS = (IY + STRIP - 1) / STRIP;
constexpr int UNITS = CIN * ES / 16, DEEP = (UNITS + 3) / 4;  // 16-byte units of an input; pairs of instructions
constexpr int RUN = SX * OUT, PARTS = SLOTS * DEEP * TILES;   // numbers of a position in a row; fragments of weights
constexpr bool HELD = PARTS <= 8;                             // in registers

__device__ constexpr int low_of(int phase) {
    constexpr int values[] = LOW;
    return values[phase];
}
__device__ constexpr int count_of(int phase) {
    constexpr int values[] = COUNT;
    return values[phase];
}
__device__ constexpr int first_of(int phase) {
    constexpr int values[] = FIRST;
    return values[phase];
}
__device__ constexpr int reach_of(int tile, int phase) {
    constexpr int values[TILES][SX] = REACH;
    return values[tile][phase];
}
__device__ constexpr int least() {
    int found = low_of(0);
    for (int f = 0; f < SY; ++f) found = low_of(f) < found ? low_of(f) : found;
    return found;
}
__device__ constexpr int most() {
    int found = low_of(0) + count_of(0) - 1;
    for (int f = 0; f < SY; ++f) found = low_of(f) + count_of(f) - 1 > found ? low_of(f) + count_of(f) - 1 : found;
    return found;
}
__device__ constexpr bool reaches(int tile, int by) {
    for (int f = 0; f < SX; ++f)
        if (reach_of(tile, f) == by) return true;
    return false;
}

__device__ __forceinline__ Acc shuffled(Acc value, int from) { return __shfl_sync(~0u, value, from); }

extern "C" __global__ void __launch_bounds__(THREADS)
    rows(const uint4 *in, unsigned char *out, const uint4 *__restrict__ weights, const Acc *__restrict__ bias,
         const signed char *__restrict__ lookup, int n) {
    extern __shared__ uint4 shared[];
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const i64 strip = (i64)blockIdx.x * WARPS + threadIdx.x / 32, item = strip / STRIPS;
    const int y0 = (int)(strip % STRIPS) * STRIP, y1 = min(y0 + STRIP, IY);
    let_next_start();
    for (int e = threadIdx.x; e < PARTS * 32; e += THREADS) shared[e] = weights[e];
    __syncthreads();
    uint4 held[HELD ? PARTS : 1];
    UNROLLED for (int k = 0; k < (HELD ? PARTS : 1); ++k) held[k] = shared[k * 32 + lane];
    Acc own_bias[2];
    UNROLLED for (int e = 0; e < 2; ++e) own_bias[e] = 2 * t + e < RUN ? bias[(2 * t + e) % OUT] : 0;
    wait_for_inputs();
    if (item >= n) return;

    const auto inside = [&](int r, int k, int i) {
        return (uint)r < IY && (IX == 16 * MT || i * 8 + g < IX) && (UNITS % 4 == 0 || 4 * k + t < UNITS);
    };
    const auto source = [&](int r, int k, int i) { return in + ((item * IY + r) * IX + i * 8 + g) * UNITS + 4 * k + t; };
    const auto load = [&](uint4 (&a)[DEEP][2 * MT], int r) {
        UNROLLED for (int k = 0; k < DEEP; ++k) UNROLLED for (int i = 0; i < 2 * MT; ++i)
            a[k][i] = inside(r, k, i) ? *source(r, k, i) : make_uint4(0, 0, 0, 0);
    };
    constexpr int ROW = DEEP * 2 * MT * 32;  // units of a row of this warp
    uint4 *const ring = shared + PARTS * 32 + threadIdx.x / 32 * (AHEAD * ROW) + lane;
    const auto fetch = [&](int r) {
        uint4 *const to = ring + (r - y0 + most()) % (AHEAD ? AHEAD : 1) * ROW;
        UNROLLED for (int k = 0; k < DEEP; ++k) UNROLLED for (int i = 0; i < 2 * MT; ++i) {
            const bool valid = inside(r, k, i);
            copy<16>(address(to + (k * 2 * MT + i) * 32), valid ? source(r, k, i) : in, valid);
        }
        copies_commit();
    };
    Acc acc[SLOTS][TILES][MT][4];
    UNROLLED for (int s = 0; s < SLOTS; ++s) UNROLLED for (int j = 0; j < TILES; ++j) UNROLLED for (int i = 0; i < MT; ++i)
        UNROLLED for (int k = 0; k < 4; ++k) acc[s][j][i][k] = 0;
    uint4 a[DEEP][2 * MT], next[DEEP][2 * MT];
    if (AHEAD == 0) load(a, y0 - most());
    for (int k = 0; k < AHEAD; ++k) fetch(y0 - most() + k);
    for (int r = y0 - most(); r < y1 - least(); ++r) {
        if constexpr (AHEAD > 0) {
            copies_wait<AHEAD - 1>();
            const uint4 *const from = ring + (r - y0 + most()) % AHEAD * ROW;
            UNROLLED for (int k = 0; k < DEEP; ++k) UNROLLED for (int i = 0; i < 2 * MT; ++i) a[k][i] = from[(k * 2 * MT + i) * 32];
            fetch(r + AHEAD);
        } else if (DEEP == 1) {
            load(next, r + 1);
        }
        if ((uint)r < IY)
            UNROLLED for (int s = 0; s < SLOTS; ++s) UNROLLED for (int k = 0; k < DEEP; ++k) UNROLLED for (int j = 0; j < TILES; ++j) {
                const int part = (s * DEEP + k) * TILES + j;
                const uint4 w = HELD ? held[HELD ? part : 0] : shared[part * 32 + lane];
                UNROLLED for (int i = 0; i < MT; ++i) {
                    const uint4 low = a[k][2 * i], high = a[k][2 * i + 1];
                    mma(acc[s][j][i], low.x, high.x, low.y, high.y, w.x, w.y);
                    mma(acc[s][j][i], low.z, high.z, low.w, high.w, w.z, w.w);
                }
            }
        UNROLLED for (int f = 0; f < SY; ++f) {
            const int s = first_of(f), y = r + low_of(f);  // these outputs are complete
            if (y >= y0 && y < y1)
                UNROLLED for (int i = 0; i < MT; ++i) UNROLLED for (int h = 0; h < 2; ++h) {
                    Acc two[2];
                    UNROLLED for (int e = 0; e < 2; ++e) {
                        const int phase = min((2 * t + e) / OUT, SX - 1);
                        Acc sum = own_bias[e];
                        UNROLLED for (int j = 0; j < TILES; ++j) {
                            const Acc here = acc[s][j][i][2 * h + e];
                            int reach = reach_of(j, 0);
                            UNROLLED for (int p = 1; p < SX; ++p) reach = phase == p ? reach_of(j, p) : reach;
                            Acc found = here;
                            if (reaches(j, 1)) {  // what the input before gives
                                const Acc before = h ? acc[s][j][i][e] : i ? acc[s][j][i ? i - 1 : 0][2 + e] : 0;
                                const Acc moved = shuffled(g == 7 ? before : here, (lane + 28) % 32);
                                found = reach == 1 ? moved : found;
                            }
                            if (reaches(j, -1)) {
                                const Acc after = h == 0 ? acc[s][j][i][2 + e] : i + 1 < MT ? acc[s][j][i + 1 < MT ? i + 1 : i][e] : 0;
                                const Acc moved = shuffled(g == 0 ? after : here, (lane + 4) % 32);
                                found = reach == -1 ? moved : found;
                            }
                            sum += found;
                        }
                        two[e] = activate(sum, lookup);
                    }
                    const int x = i * 16 + h * 8 + g;
                    unsigned char *const to = out + (((item * IY + y) * SY + f) * IX + x) * (RUN * ES) + 2 * t * ES;
                    if (IX == 16 * MT || x < IX) {
                        if (RUN % 2 == 0 && 2 * t < RUN) store(to, two);
                        if (RUN % 2) {
                            const Acc first[1] = {two[0]}, second[1] = {two[1]};
                            if (2 * t < RUN) store(to, first);
                            if (2 * t + 1 < RUN) store(to + ES, second);
                        }
                    }
                }
            UNROLLED for (int k = 0; k < count_of(f); ++k) UNROLLED for (int j = 0; j < TILES; ++j)
                UNROLLED for (int i = 0; i < MT; ++i) UNROLLED for (int v = 0; v < 4; ++v)
                    acc[s + k][j][i][v] = k + 1 < count_of(f) ? acc[k + 1 < count_of(f) ? s + k + 1 : s][j][i][v] : 0;
        }
        if (AHEAD == 0 && DEEP == 1) {
            UNROLLED for (int i = 0; i < 2 * MT; ++i) a[0][i] = next[0][i];
        } else if (AHEAD == 0) {
            load(a, r + 1);
        }
    }
}
