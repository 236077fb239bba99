// Two transposed convolutions of images in one launch: the second has few output channels, and what lies between stays in
// shared memory. A block takes one item after the other.
//
// The first layer has all inputs of an item in shared memory, with a border of zeros, as planes of 16 bytes a position, and
// all weights, which stay for all items; the next item is fetched meanwhile. A warpgroup has 8 x 8 positions: it reads them
// into registers once for each reach, and multiplies them for all phases that need them. Its outputs go to shared memory, rows of
// positions with their channels together; 16-byte units are exchanged within 128 bytes so that neither writing every second
// position nor reading all of them meets a bank twice. The second layer is done as in `mma_rows.cu`, a warp a few rows, but
// every row is read when a position needs it: there are no sums to be carried on.
//
// The host defines for the first layer CIN, IY IX (inputs, multiples of 8, 64 a warpgroup), SY SX, BN (its output channels),
// PHASES, PLACE (of each phase y, x), REACHES, REACHED (y, x of each), STEPS (of weights, 128 bytes of channels of a tap each),
// STEP (of each reach for each phase that step, or -1), LY LX (largest reach), HY HX (positions with their border), REGIONS (of
// inputs, 1 or 2: of items that are fetched before the last one is done), SHIFT1. For the second one
// LAST_OUT, LAST_SY LAST_SX and, as `mma_rows.cu` has them, LOW, COUNT, FIRST, SLOTS, REACH, TILES; WINDOW (rows that a row of
// outputs needs) and MOST (largest reach of rows).

constexpr int THREADS = WORKERS, WARPS = THREADS / 32;
constexpr int UNITS = CIN * ES / 16, DEEP = UNITS / 2;        // units of 16 bytes of an input; instructions of a step
constexpr int PLANE = (HY * HX + 6) / 8 * 8 + 1;              // odd: units of a position are in different banks
constexpr int KEEP = (UNITS * PLANE * 16 + 1023) / 1024 * 1024;
constexpr int MY = IY * SY, MX = IX * SX;                     // positions between the layers
constexpr int MIDDLE_UNITS = BN * ES / 16, MIDDLE_ROW = MX * MIDDLE_UNITS * 16;
constexpr int LAST_DEEP = (MIDDLE_UNITS + 3) / 4, RUN = LAST_SX * LAST_OUT, PARTS = SLOTS * LAST_DEEP * TILES;
constexpr int STRIP = MY / WARPS, ACROSS_TILES = MX / 16;     // rows of a warp; tiles of 16 positions

__device__ constexpr int place_of(int phase, int axis) {
    constexpr int values[][2] = PLACE;
    return values[phase][axis];
}
__device__ constexpr int reach_y(int reach) {
    constexpr int values[][2] = REACHED;
    return values[reach][0];
}
__device__ constexpr int reach_x(int reach) {
    constexpr int values[][2] = REACHED;
    return values[reach][1];
}
__device__ constexpr int step_of(int reach, int phase) {
    constexpr int values[][PHASES] = STEP;
    return values[reach][phase];
}
__device__ constexpr bool is_first(int reach, int phase) {
    for (int q = 0; q < reach; ++q)
        if (step_of(q, phase) >= 0) return false;
    return true;
}
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
    constexpr int values[TILES][LAST_SX] = REACH;
    return values[tile][phase];
}
__device__ constexpr bool moves(int tile) {
    for (int f = 0; f < LAST_SX; ++f)
        if (reach_of(tile, f)) return true;
    return false;
}

// Byte of unit `unit` of position x in a row between the layers.
__device__ __forceinline__ int middle_at(int x, int unit) {
    const int place = x * MIDDLE_UNITS + unit;
    return (place ^ (place >> 3 & 7)) * 16;
}

// A sum of the first layer with its bias as a number of the second.
__device__ __forceinline__ Acc clipped(Acc sum) {
#if INT8
    return min(max(SHIFT1 > 0 ? (sum + (1 << (SHIFT1 > 0 ? SHIFT1 - 1 : 0))) >> SHIFT1 : sum, 0), 127);
#else
    return __saturatef(sum);
#endif
}

__device__ __forceinline__ Acc shuffled(Acc value, int from) { return __shfl_sync(~0u, value, from); }

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    pair(const uint4 *in, unsigned char *out, const unsigned char *__restrict__ weights, const Acc *__restrict__ bias,
         const uint4 *__restrict__ last_weights, const Acc *__restrict__ last_bias, const signed char *__restrict__ lookup,
         int n) {
    extern __shared__ uint4 shared[];
    char *const base = (char *)shared + (-address(shared) & 1023);
    char *const middle = base + STEPS * WEIGHTS + REGIONS * KEEP;
    uint4 *const own_weights = (uint4 *)(middle + MY * MIDDLE_ROW);
    const uint region = address(base) + STEPS * WEIGHTS, ready = address(own_weights + PARTS * 32), there = ready + 8;
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, warp = threadIdx.x / 32, tile = threadIdx.x / 128;
    const int tile_y = tile / (IX / 8) * 8, tile_x = tile % (IX / 8) * 8;
    let_next_start();

    if (threadIdx.x == 0) {
        barrier_init(ready, THREADS);
        barrier_init(there, 1);
        show_barriers();
        barrier_expect(there, STEPS * WEIGHTS);
        bulk_copy(address(base), weights, STEPS * WEIGHTS, there);
    }
    for (int e = threadIdx.x; e < REGIONS * KEEP / 16; e += THREADS) *(uint4 *)(base + STEPS * WEIGHTS + e * 16) = make_uint4(0, 0, 0, 0);
    for (int e = threadIdx.x; e < PARTS * 32; e += THREADS) own_weights[e] = last_weights[e];
    Acc own_bias[2];
    int from[TILES][2], by[TILES][2];  // lane and reach from which the other products of a number come
    UNROLLED for (int e = 0; e < 2; ++e) {
        own_bias[e] = 2 * t + e < RUN ? last_bias[(2 * t + e) % LAST_OUT] : 0;
        const int phase = min((2 * t + e) / LAST_OUT, LAST_SX - 1);
        UNROLLED for (int j = 0; j < TILES; ++j) {
            by[j][e] = reach_of(j, 0);
            UNROLLED for (int p = 1; p < LAST_SX; ++p) by[j][e] = phase == p ? reach_of(j, p) : by[j][e];
            from[j][e] = (lane - 4 * by[j][e]) & 31;
        }
    }
    __syncthreads();
    wait_for_inputs();

    const auto fetch = [&](i64 item, int number) {
        for (int e = threadIdx.x; e < IY * IX * UNITS; e += THREADS) {
            const int unit = e % UNITS, p = e / UNITS;
            copy<16>(region + number % REGIONS * KEEP + (unit * PLANE + (p / IX + LY) * HX + p % IX + LX) * 16, in + (item * (IY * IX) + p) * UNITS + unit, true);
        }
        copies_come(ready);
    };
    if (blockIdx.x < n) fetch(blockIdx.x, 0);
    barrier_wait(there, 0);
    // What this lane reads of the rows of its warp: unit, row of positions, position.
    const uint lines = region + (lane / 16 * PLANE + (tile_y + warp % 4 * 2 + lane / 8 % 2) * HX + tile_x + lane % 8) * 16;
    int number = 0;
    for (i64 item = blockIdx.x; item < n; item += gridDim.x, ++number) {
        barrier_wait(ready, number & 1);
        const bool more = item + gridDim.x < n;
        if (REGIONS > 1 && more) fetch(item + gridDim.x, number + 1);  // to where nobody reads any more
        Acc acc[PHASES][BN / 2];
        uint a[2][DEEP][4];
        const uint own = lines + number % REGIONS * KEEP;
        UNROLLED for (int q = 0; q < REACHES; ++q) {  // all phases that need these inputs
            const uint at = own + ((LY - reach_y(q)) * HX + LX - reach_x(q)) * 16;
            UNROLLED for (int k = 0; k < DEEP; ++k) load_rows(a[q % 2][k], at + k * (2 * PLANE * 16));
            wgmma_begin();
            UNROLLED for (int k = 0; k < DEEP; ++k) UNROLLED for (int p = 0; p < PHASES; ++p)
                if (step_of(q, p) >= 0)
                    wgmma(acc[p], a[q % 2][k], operand(address(base) + step_of(q, p) * WEIGHTS + k * 32), k > 0 || !is_first(q, p));
            wgmma_commit();
            wgmma_wait<1>();
        }
        some_sync(1, THREADS);  // all have read what lay between the layers of the last item
        wgmma_wait<0>();
        UNROLLED for (int p = 0; p < PHASES; ++p) UNROLLED for (int h = 0; h < 2; ++h) {
            const int y = (tile_y + warp % 4 * 2 + h) * SY + place_of(p, 0), x = (tile_x + g) * SX + place_of(p, 1);
            UNROLLED for (int j = 0; j < BN / 8; ++j) {
                const int k = 4 * j + 2 * h, byte = (8 * j + 2 * t) * ES;
                const Acc low = bias[8 * j + 2 * t], high = bias[8 * j + 2 * t + 1];
                const Acc two[2] = {clipped(acc[p][k] + low), clipped(acc[p][k + 1] + high)};
                store((unsigned char *)middle + y * MIDDLE_ROW + middle_at(x, byte / 16) + byte % 16, two);
            }
        }
        some_sync(2, THREADS);
        if (REGIONS == 1 && more) fetch(item + gridDim.x, 0);

        uint4 row[WINDOW][LAST_DEEP][2 * ACROSS_TILES];
        const auto load = [&](uint4 (&to)[LAST_DEEP][2 * ACROSS_TILES], int r) {
            UNROLLED for (int k = 0; k < LAST_DEEP; ++k) UNROLLED for (int i = 0; i < 2 * ACROSS_TILES; ++i) {
                const bool inside = (uint)r < MY && (MIDDLE_UNITS % 4 == 0 || 4 * k + t < MIDDLE_UNITS);
                to[k][i] = inside ? *(const uint4 *)(middle + r * MIDDLE_ROW + middle_at(i * 8 + g, 4 * k + t))
                                   : make_uint4(0, 0, 0, 0);
            }
        };
        UNROLLED for (int w = 0; w + 1 < WINDOW; ++w) load(row[w + 1], warp * STRIP - MOST + w);
        for (int y = warp * STRIP; y < (warp + 1) * STRIP; ++y) {
            UNROLLED for (int w = 0; w + 1 < WINDOW; ++w) UNROLLED for (int k = 0; k < LAST_DEEP; ++k)
                UNROLLED for (int i = 0; i < 2 * ACROSS_TILES; ++i) row[w][k][i] = row[w + 1][k][i];
            load(row[WINDOW - 1], y - MOST + WINDOW - 1);
            UNROLLED for (int f = 0; f < LAST_SY; ++f) {
                Acc sums[TILES][ACROSS_TILES][4];
                UNROLLED for (int j = 0; j < TILES; ++j) UNROLLED for (int i = 0; i < ACROSS_TILES; ++i)
                    UNROLLED for (int k = 0; k < 4; ++k) sums[j][i][k] = 0;
                UNROLLED for (int c = 0; c < count_of(f); ++c) UNROLLED for (int k = 0; k < LAST_DEEP; ++k)
                    UNROLLED for (int j = 0; j < TILES; ++j) {
                        const uint4 w = own_weights[(((first_of(f) + c) * LAST_DEEP + k) * TILES + j) * 32 + lane];
                        UNROLLED for (int i = 0; i < ACROSS_TILES; ++i) {
                            const uint4 low = row[MOST - low_of(f) - c][k][2 * i], high = row[MOST - low_of(f) - c][k][2 * i + 1];
                            mma(sums[j][i], low.x, high.x, low.y, high.y, w.x, w.y);
                            mma(sums[j][i], low.z, high.z, low.w, high.w, w.z, w.w);
                        }
                    }
                UNROLLED for (int i = 0; i < ACROSS_TILES; ++i) UNROLLED for (int h = 0; h < 2; ++h) {
                    Acc two[2];
                    UNROLLED for (int e = 0; e < 2; ++e) {
                        Acc sum = own_bias[e];
                        UNROLLED for (int j = 0; j < TILES; ++j) {
                            const Acc here = sums[j][i][2 * h + e];
                            if (!moves(j)) {
                                sum += here;
                                continue;
                            }
                            const Acc before = h ? sums[j][i][e] : i ? sums[j][i ? i - 1 : 0][2 + e] : 0;
                            const Acc after = h == 0 ? sums[j][i][2 + e] : i + 1 < ACROSS_TILES ? sums[j][i + 1 < ACROSS_TILES ? i + 1 : i][e] : 0;
                            Acc given = here;  // lanes that exchange have the same columns, so the same reach
                            given = by[j][e] == 1 && g == 7 ? before : given;
                            given = by[j][e] == -1 && g == 0 ? after : given;
                            sum += shuffled(given, from[j][e]);
                        }
                        two[e] = activate(sum, lookup);
                    }
                    unsigned char *const to = out + (((item * MY + y) * LAST_SY + f) * MX + i * 16 + h * 8 + g) * (RUN * ES) + 2 * t * ES;
                    if (RUN % 2 == 0 && 2 * t < RUN) store(to, two);
                    if (RUN % 2) {
                        const Acc first[1] = {two[0]}, second[1] = {two[1]};
                        if (2 * t < RUN) store(to, first);
                        if (2 * t + 1 < RUN) store(to + ES, second);
                    }
                }
            }
        }
    }
}
