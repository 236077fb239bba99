// New lists: particles move to the bricks that they are in now, are sorted there, and each brick finds its locals and,
// for each group of its own particles, the locals within REACH.

struct Particles { int4 *at; float4 *velocity; };

// Every particle into the brick that it is in, in any order. `incoming` counts those of each brick.
DEVICE void move(const Particles &from, const Particles &to, const int *own, int *incoming, int *status, unsigned *vote) {
    for (int brick = blockIdx.x; brick < BRICKS; brick += GRID) {
        for (int i = threadIdx.x; i < own[brick]; i += THREADS) {
            int4 at = __ldcg(from.at + brick * SLOTS + i);
            const int x = (at.x + HALF) >> 28, y = (at.y + HALF) >> 28, z = (at.z + HALF) >> 28;
            at.x -= x * EDGE, at.y -= y * EDGE, at.z -= z * EDGE;
            const int target = brick_at(brick, x, y, z), slot = atomicAdd(incoming + target, 1);
            if (slot < SLOTS) {
                to.at[target * SLOTS + slot] = at;
                to.velocity[target * SLOTS + slot] = from.velocity[brick * SLOTS + i];
            } else {
                complain(status, vote, CROWDED_BRICK);
            }
        }
    }
}

// Sums of `end` so far, in place: from numbers in bins to where each begins. Every thread sums bins in a row.
DEVICE void begin_of_bins(const Shared &s, int bins) {
    const int each = (bins + THREADS - 1) / THREADS, first = min((int)threadIdx.x * each, bins);
    const int stop = min(first + each, bins), lane = threadIdx.x % 32;
    int mine = 0;
    for (int i = first; i < stop; ++i) mine += s.end[i];
    int sum = mine;
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
        const int other = __shfl_up_sync(~0u, sum, by);
        if (lane >= by) sum += other;
    }
    if (lane == 31) s.sums[threadIdx.x / 32] = sum;
    __syncthreads();
    int before = sum - mine;
    for (int warp = 0; warp < (int)threadIdx.x / 32; ++warp) before += s.sums[warp];
    for (int i = first; i < stop; ++i) {
        const int held = s.end[i];
        s.end[i] = before;
        before += held;
    }
}

// Where `key` belongs, in its bin, by order of the keys: the same order whatever order they came in.
DEVICE int rank(const unsigned *placed, const int *end, int bin, unsigned key) {
    int found = bin ? end[bin - 1] : 0;
    for (int i = found, stop = end[bin]; i < stop; ++i) found += placed[i] < key;
    return found;
}

// Bin of a particle of this brick, of about one particle each and counted back and forth along the axes, so that those
// that follow each other are near.
DEVICE int along_the_way(int4 at) {
    int x = bin(at.x, WAY_X, 0), y = bin(at.y, WAY_Y, 0);
    const int z = bin(at.z, WAY_Z, 0);
    if (z % 2) y = WAY_Y - 1 - y;
    const int row = z * WAY_Y + y;
    if (row % 2) x = WAY_X - 1 - x;
    return row * WAY_X + x;
}

// The particles of a brick in the order of bins and, in a bin, of their numbers.
DEVICE void sort(const Shared &s, const Particles &from, const Particles &to, int4 *reference, int *own, int *incoming,
                 int brick) {
    constexpr int each = (SLOTS + THREADS - 1) / THREADS;
    unsigned *placed = (unsigned *)s.place;
    const int count = min(__ldcg(incoming + brick), SLOTS);
    for (int i = threadIdx.x; i < WAY; i += THREADS) s.end[i] = 0;
    __syncthreads();
    int4 at[each];
    float4 velocity[each];
    int mine[each];
#pragma unroll
    for (int e = 0; e < each; ++e) {
        const int i = e * THREADS + threadIdx.x;
        if (i >= count) break;
        at[e] = __ldcg(from.at + brick * SLOTS + i);
        velocity[e] = __ldcg(from.velocity + brick * SLOTS + i);
        mine[e] = along_the_way(at[e]);
        atomicAdd(s.end + mine[e], 1);
    }
    __syncthreads();
    begin_of_bins(s, WAY);
    __syncthreads();
#pragma unroll
    for (int e = 0; e < each; ++e)
        if (e * THREADS + (int)threadIdx.x < count) placed[atomicAdd(s.end + mine[e], 1)] = __float_as_uint(velocity[e].w);
    __syncthreads();
#pragma unroll
    for (int e = 0; e < each; ++e) {
        if (e * THREADS + (int)threadIdx.x >= count) break;
        const int slot = brick * SLOTS + rank(placed, s.end, mine[e], __float_as_uint(velocity[e].w));
        to.at[slot] = reference[slot] = at[e];
        to.velocity[slot] = velocity[e];
    }
    if (threadIdx.x == 0) {
        own[brick] = count;
        incoming[brick] = 0;
    }
    __syncthreads();
}

// All particles within REACH of a brick, itself included, in the order of bins, as words; returns how many. A warp takes
// so many particles of a brick around at a time.
DEVICE int find_locals(const Shared &s, const int4 *at, const int *own, unsigned *words, int *status, int brick) {
    constexpr int sides_x = 2 * REACH_BRICKS_X + 1, sides_y = 2 * REACH_BRICKS_Y + 1, sides_z = 2 * REACH_BRICKS_Z + 1;
    constexpr int each = 4, parts = (SLOTS + 32 * each - 1) / (32 * each);
    const int lane = threadIdx.x % 32;
    unsigned *found = (unsigned *)s.place, *placed = found + LOCALS;
    int *bin_of = (int *)(placed + LOCALS);
    for (int i = threadIdx.x; i < BINS; i += THREADS) s.end[i] = 0;
    if (threadIdx.x == 0) *s.counter = 0;
    for (int i = threadIdx.x; i < sides_x * sides_y * sides_z; i += THREADS)
        s.near[i] = __ldcg(own + brick_at(brick, i % sides_x - REACH_BRICKS_X, i / sides_x % sides_y - REACH_BRICKS_Y,
                                          i / (sides_x * sides_y) - REACH_BRICKS_Z));
    __syncthreads();
    for (int unit = threadIdx.x / 32; unit < sides_x * sides_y * sides_z * parts; unit += THREADS / 32) {
        const int near = unit / parts, first = unit % parts * (32 * each) + lane, count = s.near[near];
        if (first - lane >= count) continue;
        const int x = near % sides_x - REACH_BRICKS_X, y = near / sides_x % sides_y - REACH_BRICKS_Y;
        const int z = near / (sides_x * sides_y) - REACH_BRICKS_Z, slot = brick_at(brick, x, y, z) * SLOTS + first;
        int4 p[each];
#pragma unroll
        for (int e = 0; e < each; ++e)
            if (first + 32 * e < count) p[e] = __ldcg(at + slot + 32 * e);
#pragma unroll
        for (int e = 0; e < each; ++e) {
            bool within = false;
            if (first + 32 * e < count) {
                const float4 q = place(p[e], x, y, z);
                const float away_x = fmaxf(fabsf(q.x) - HALF * UNIT_X, 0.0f), away_y = fmaxf(fabsf(q.y) - HALF * UNIT_Y, 0.0f);
                const float away_z = fmaxf(fabsf(q.z) - HALF * UNIT_Z, 0.0f);
                within = away_x * away_x + away_y * away_y + away_z * away_z <= REACH * REACH * 1.0001f;
            }
            const unsigned all = __ballot_sync(~0u, within);
            int k = 0;
            if (lane == 0 && all) k = atomicAdd(s.counter, __popc(all));
            k = __shfl_sync(~0u, k, 0) + __popc(all & ((1u << lane) - 1));
            if (!within || k >= LOCALS) continue;
            found[k] = WORD(slot + 32 * e, x, y, z);
            bin_of[k] = (bin(p[e].z + z * EDGE, OWN_BINS_Z, REACH_BINS_Z) * BINS_Y +
                         bin(p[e].y + y * EDGE, OWN_BINS_Y, REACH_BINS_Y)) * BINS_X +
                        bin(p[e].x + x * EDGE, OWN_BINS_X, REACH_BINS_X);
            atomicAdd(s.end + bin_of[k], 1);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0 && *s.counter > LOCALS) complain(status, s.vote, CROWDED_REACH);
    const int count = min(*s.counter, LOCALS);
    begin_of_bins(s, BINS);
    __syncthreads();
    for (int k = threadIdx.x; k < count; k += THREADS) placed[atomicAdd(s.end + bin_of[k], 1)] = found[k];
    __syncthreads();
    for (int k = threadIdx.x; k < count; k += THREADS) {
        const int at = rank(placed, s.end, bin_of[k], found[k]);
        words[at] = found[k];
        if (SETTLED) s.words[at] = found[k];
    }
    __syncthreads();
    return count;
}

// The lanes of a warp that make lists together stay together, as far as any of them goes; single threads need not.
#if LANES == 1
#define WARP_MOST(x) (x)
#else
#define WARP_MOST(x) __reduce_max_sync(~0u, x)
#endif

// First and last bin along an axis that a span from `low` to `high` touches.
DEVICE int2 bins_of(float low, float high, float per_length, float middle, int bins) {
    const int first = (int)floorf(low * per_length + middle), last = (int)floorf(high * per_length + middle);
    return make_int2(max(0, min(first, bins - 1)), max(0, min(last, bins - 1)));
}
// Distance of bin `i` to the span, along an axis.
DEVICE float gap(int i, float low, float high, float per_length, float middle) {
    const float begin = (i - middle) * (1.0f / per_length), end = (i + 1 - middle) * (1.0f / per_length);
    return fmaxf(fmaxf(begin - high, low - end), 0.0f);
}

// The list of this thread's group: locals within REACH of any of its particles, dealt out to the group's lanes in turn, so
// that lanes read places in a row; see `list.cuh`. Returns chunks of this lane.
DEVICE int make_list(const Shared &s, const float4 *mine, int members, Chunk *list, int *status) {
    const int lane = threadIdx.x % LANES;
#if LANES > 1
    const unsigned group = (~0u >> (32 - LANES)) << (threadIdx.x % 32 - lane);
#endif
    Writer writer(list);
    int count = 0, same = 0, rows = 0;
    bool close = false;
    float4 low = mine[0], high = mine[0];
#pragma unroll
    for (int m = 1; m < MEMBERS; ++m) {
        if (m >= members) break;
        low.x = fminf(low.x, mine[m].x), low.y = fminf(low.y, mine[m].y), low.z = fminf(low.z, mine[m].z);
        high.x = fmaxf(high.x, mine[m].x), high.y = fmaxf(high.y, mine[m].y), high.z = fmaxf(high.z, mine[m].z);
#pragma unroll
        for (int a = 0; a < m; ++a) {
            const float x = mine[a].x - mine[m].x, y = mine[a].y - mine[m].y, z = mine[a].z - mine[m].z;
            close |= x * x + y * y + z * z < CLOSE2;
        }
    }
    constexpr float wide = REACH * 1.0001f, middle_x = OWN_BINS_X * 0.5f + REACH_BINS_X;
    constexpr float middle_y = OWN_BINS_Y * 0.5f + REACH_BINS_Y, middle_z = OWN_BINS_Z * 0.5f + REACH_BINS_Z;
    constexpr float per_x = OWN_BINS_X / (EDGE * UNIT_X), per_y = OWN_BINS_Y / (EDGE * UNIT_Y);
    constexpr float per_z = OWN_BINS_Z / (EDGE * UNIT_Z);
    const int2 lines = bins_of(low.y - wide, high.y + wide, per_y, middle_y, BINS_Y);
    const int2 layers = bins_of(low.z - wide, high.z + wide, per_z, middle_z, BINS_Z);
    if (members) rows = (lines.y - lines.x + 1) * (layers.y - layers.x + 1);
    int y = lines.x, z = layers.x;
    for (int row = 0, most = WARP_MOST(rows); row < most; ++row) {
        int k = 0, stop = 0;
        if (row < rows) {
            const float away_y = gap(y, low.y, high.y, per_y, middle_y), away_z = gap(z, low.z, high.z, per_z, middle_z);
            const float left = wide * wide - away_z * away_z - away_y * away_y;
            if (left >= 0) {
                const float along = sqrtf(left);
                const int2 columns = bins_of(low.x - along, high.x + along, per_x, middle_x, BINS_X);
                const int first = (z * BINS_Y + y) * BINS_X + columns.x;
                k = first ? s.end[first - 1] : 0;
                stop = s.end[first + columns.y - columns.x];
            }
            if (++y > lines.y) y = lines.x, ++z;
        }
        for (int turns = WARP_MOST((stop - k + LANES - 1) / LANES); turns > 0; --turns, k += LANES) {
            bool near = false;
            if (k + lane < stop) {
                const float4 q = s.place[k + lane];
                bool own = false;
#pragma unroll
                for (int m = 0; m < MEMBERS; ++m) {
                    const float x = mine[m].x - q.x, y = mine[m].y - q.y, z = mine[m].z - q.z;
                    const float r2 = x * x + y * y + z * z;
                    near |= r2 < REACH * REACH;
                    own |= r2 == 0;
                    close |= r2 > 0 && r2 < CLOSE2;
                }
                near &= !own;
                same += own;
            }
            int number = count;
#if LANES > 1
            const unsigned all = __ballot_sync(~0u, near) & group;
            number += __popc(all & ((1u << threadIdx.x % 32) - 1));
            count += __popc(all);
#else
            count += near;
#endif
            if (near && number < LIST_ROOM) writer.put(number, k + lane);
        }
    }
    // Each member has found itself and nobody else in its place.
    for (int by = LANES / 2; by; by /= 2) same += __shfl_xor_sync(~0u, same, by);
    if (close || same != members) complain(status, s.vote, TOO_CLOSE);
    if (count > LIST_ROOM) complain(status, s.vote, CROWDED_LIST), count = 0;
    return writer.pad(count);
}
