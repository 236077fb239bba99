/* One step of molecular dynamics with neighbour lists; gpu/md/cells.py puts the macros before this text.

   Positions are fractions of the box in units of 2^-32, so that wrapping and the nearest image are what 32-bit integers
   do by themselves, and the precision is the same in a large box. Particles are kept in the order of their cells, rows of
   cells along x one after another; `ids` says which one of the caller's each is. Forces are sums over all neighbours of a
   particle, so no two work-items write the same number, and every sum has one order: runs repeat bit for bit. */

/* Of `status`: whether a step wants lists, whether they are being built now, the longest list that there was no room for,
   1 + a particle that moved half the skin unseen, 1 + one that moved absurdly far, lists built. */
enum { WANT = 0, NOW = 1, OVERFLOW = 2, LATE = 3, FAST = 4, BUILDS = 5 };

__kernel void nothing(__global char *p) {}

static float3 between(uint4 from, uint4 to)
{
    return (float3)(convert_float((int)(to.x - from.x)) * SCALE_X, convert_float((int)(to.y - from.y)) * SCALE_Y,
                    convert_float((int)(to.z - from.z)) * SCALE_Z);
}

static int cell_of(uint4 x)
{
    return ((int)mul_hi(x.z, (uint)CELLS_Z) * CELLS_Y + (int)mul_hi(x.y, (uint)CELLS_Y)) * CELLS_X
           + (int)mul_hi(x.x, (uint)CELLS_X);
}

/* Where the particles of a cell begin: counts are summed within blocks, and blocks among themselves. */
static int begin_of(__global const int *within, __global const int *before, int cell)
{
    return within[cell] + before[cell / BLOCK];
}

/* ---- Lists: five kernels and the list itself; each does nothing unless a step wants them. ---- */

__kernel void count(__global const int *status, __global const uint4 *x, __global int *counts, __global int *slots)
{
    int i = get_global_id(0);
    if (!status[WANT] || i >= N)
        return;
    slots[i] = atomic_inc(counts + cell_of(x[i]));
}

__kernel void sums(__global const int *status, __global const int *counts, __global int *within, __global int *before)
{
    __local int held[BLOCK];
    int cell = get_global_id(0), lane = get_local_id(0);
    if (!status[WANT])
        return;
    int own = cell < CELLS ? counts[cell] : 0;
    held[lane] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = 1; reach < BLOCK; reach *= 2) {
        int other = lane >= reach ? held[lane - reach] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        held[lane] += other;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (cell <= CELLS)
        within[cell] = held[lane] - own;
    if (lane == BLOCK - 1)
        before[get_group_id(0)] = held[lane];
}

/* One group: the sum of each block becomes that of all blocks before it. The wish becomes a work in hand. */
__kernel void blocks(__global int *status, __global int *before)
{
    __local int held[BLOCK];
    int lane = get_local_id(0), want = status[WANT];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (lane == 0) {
        status[NOW] = want;
        status[WANT] = 0;
    }
    if (!want)
        return;
    int first = lane * BLOCKS_EACH, last = min(first + BLOCKS_EACH, BLOCKS), total = 0;
    for (int b = first; b < last; b++)
        total += before[b];
    held[lane] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = 1; reach < BLOCK; reach *= 2) {
        int other = lane >= reach ? held[lane - reach] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        held[lane] += other;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    total = held[lane] - total;
    for (int b = first; b < last; b++) {
        int own = before[b];
        before[b] = total;
        total += own;
    }
}

__kernel void place(__global const int *status, __global const uint4 *x, __global const int *within,
                    __global const int *before, __global const int *slots, __global int *order)
{
    int i = get_global_id(0);
    if (!status[NOW] || i >= N)
        return;
    order[begin_of(within, before, cell_of(x[i])) + slots[i]] = i;
}

/* Copy each particle to its new place. Atomics gave the places within a cell in any order; ids make it one order. */
__kernel void gather(__global const int *status, __global const uint4 *x, __global const float4 *v,
                     __global const int *ids, __global const int *within, __global const int *before,
                     __global const int *order, __global int *counts, __global uint4 *start, __global float4 *v_new,
                     __global int *ids_new)
{
    int i = get_global_id(0);
    if (!status[NOW] || i >= N)
        return;
    for (int cell = i; cell < CELLS; cell += N)
        counts[cell] = 0; /* for the next time */
    uint4 own = x[i];
    int cell = cell_of(own), id = ids[i];
    int begin = begin_of(within, before, cell), end = begin_of(within, before, cell + 1), to = begin;
    for (int k = begin; k < end; k++)
        to += ids[order[k]] < id;
    start[to] = own;
    v_new[to] = v[i];
    ids_new[to] = id;
}

static int wrapped(int c, int cells) { return c < 0 ? c + cells : c >= cells ? c - cells : c; }

/* Neighbours within cutoff and skin. Entry k of particle i is that of lane k % LANES: the lists of all particles side by
   side, as a GPU reads them, or one after another, as a CPU does: STRIDE and PITCH. */
__kernel void list(__global int *status, __global const uint4 *start, __global const float4 *v_new,
                   __global const int *ids_new, __global const int *within, __global const int *before, __global uint4 *x,
                   __global float4 *v, __global int *ids, __global int *neighbours, __global int *lengths)
{
    int i = get_global_id(0);
    if (!status[NOW] || i >= N)
        return;
    if (i == 0)
        status[BUILDS]++;
    uint4 own = start[i];
    x[i] = own;
    v[i] = v_new[i];
    ids[i] = ids_new[i];
    int cx = mul_hi(own.x, (uint)CELLS_X), cy = mul_hi(own.y, (uint)CELLS_Y), cz = mul_hi(own.z, (uint)CELLS_Z);
    int found = 0;
    /* Where the reach covers a whole side, each cell of it is visited once, from 0 on. */
    int first_z = SPAN_Z == CELLS_Z ? 0 : cz - REACH_Z, first_y = SPAN_Y == CELLS_Y ? 0 : cy - REACH_Y;
    int first_x = SPAN_X == CELLS_X ? 0 : cx - REACH_X, last_x = first_x + SPAN_X;
    for (int z = first_z; z < first_z + SPAN_Z; z++)
        for (int y = first_y; y < first_y + SPAN_Y; y++) {
            int row = (wrapped(z, CELLS_Z) * CELLS_Y + wrapped(y, CELLS_Y)) * CELLS_X;
            /* A row is one stretch of particles, or two where it leaves the box at one end. */
            for (int part = 0; part < 2; part++) {
                int from = part == 0 ? max(first_x, 0) : first_x < 0 ? first_x + CELLS_X : 0;
                int to = part == 0 ? min(last_x, CELLS_X) : first_x < 0 ? CELLS_X : last_x - CELLS_X;
                if (from >= to)
                    continue;
                int end = begin_of(within, before, row + to);
                for (int j = begin_of(within, before, row + from); j < end; j++) {
                    float3 d = between(own, start[j]);
                    if (dot(d, d) < LIST2 && j != i) {
                        if (found < CAPACITY)
                            neighbours[(size_t)(found / LANES) * STRIDE + (size_t)i * PITCH + found % LANES] = j;
                        found++;
                    }
                }
            }
        }
    if (found > CAPACITY)
        atomic_max(status + OVERFLOW, found);
    lengths[i] = min(found, CAPACITY);
}

/* ---- Forces ---- */

/* Force over distance, repulsive positive, at a squared distance below the square of the cutoff. */
static float along(float r2, float4 p)
{
    float inverse = 1.0f / r2, sixth = inverse * inverse * inverse;
    float k = inverse * sixth * (p.x * sixth - p.y);
#if SWITCHED || COULOMB
    float r = sqrt(r2), inverse_r = 1.0f / r;
#endif
#if SWITCHED
    float t = max(0.0f, (r - SWITCH) * SWITCH_RATE), left = 1.0f - t;
    float part = 1.0f + t * t * t * (-10.0f + t * (15.0f - 6.0f * t));
    float slope = -30.0f * t * t * left * left * SWITCH_RATE;
    float potential = sixth * (p.x * (1.0f / 12) * sixth - p.y * (1.0f / 6));
    k = k * part - potential * slope * inverse_r;
#endif
#if COULOMB
    /* erfc(a r) = exp(-a^2 r^2) times a polynomial, good to the cutoff. */
    float at = fma(r, EWALD_SCALE, -1.0f), scaled = EWALD_TERMS(at);
    k += p.z * inverse * exp(-EWALD2 * r2) * (scaled * inverse_r + EWALD_SLOPE);
#endif
    return k;
}

static float3 force_on(__global const uint4 *x, __global const int *neighbours, __global const int *lengths,
                       __constant float4 *pairs, int i, int lane, uint4 own)
{
    float3 force = 0.0f;
    __global const int *entry = neighbours + ((size_t)i * PITCH + lane);
    int length = lengths[i];
    for (int k = lane; k < length; k += LANES, entry += STRIDE) {
        uint4 other = x[*entry];
        float3 d = between(other, own);
        float r2 = dot(d, d);
        if (r2 < CUT2)
            force += along(r2, pairs[own.w * KINDS + other.w]) * d;
    }
    return force;
}

/* Move by `d`; say so when it is absurdly far, and when the list no longer holds, or would not until the next look. */
static uint4 drifted(uint4 x, float3 d, uint4 start, int id, int look, __global int *status)
{
    float far = dot(d, d);
    if (!(far < FAR2)) { /* also where it is no number */
        status[FAST] = id + 1;
        return x;
    }
    x.x += (uint)convert_int_rte(d.x * UNITS_X);
    x.y += (uint)convert_int_rte(d.y * UNITS_Y);
    x.z += (uint)convert_int_rte(d.z * UNITS_Z);
    float3 since = between(start, x);
    float gone = sqrt(dot(since, since));
    if (look) {
        if (gone + AHEAD * sqrt(far) + AHEAD_REST > HALF_SKIN)
            status[WANT] = 1;
    } else if (gone > HALF_SKIN)
        status[LATE] = id + 1;
    return x;
}

/* The first half kick of a launch, and the drift. */
__kernel void begin(__global int *status, __global const uint4 *x, __global uint4 *x_new, __global float4 *v,
                    __global const float4 *forces, __global const uint4 *start, __global const int *ids,
                    __constant float *kicks, int look)
{
    int i = get_global_id(0);
    if (i >= N)
        return;
    uint4 own = x[i];
    float3 speed = v[i].xyz + 0.5f * kicks[own.w] * forces[i].xyz;
    v[i] = (float4)(speed, 0.0f);
    x_new[i] = drifted(own, STEP * speed, start[i], ids[i], look, status);
}

/* Forces, then by `part`: 0 a whole kick and the drift into `x_new`; 1 the last half kick; 2 nothing more. */
__kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1)))
void advance(__global int *status, __global const uint4 *x, __global uint4 *x_new, __global float4 *v,
          __global float4 *forces, __global const uint4 *start, __global const int *ids, __constant float *kicks,
          __constant float4 *pairs, __global const int *neighbours, __global const int *lengths, int part, int look)
{
    int i = get_global_id(0) / LANES, lane = get_global_id(0) % LANES;
    uint4 own = 0;
    float3 force = 0.0f;
    if (i < N) {
        own = x[i];
        force = force_on(x, neighbours, lengths, pairs, i, lane, own);
    }
#if LANES > 1
    __local float3 held[LOCAL];
    int at = get_local_id(0);
    held[at] = force;
    for (int reach = LANES / 2; reach > 0; reach /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < reach)
            held[at] += held[at + reach];
    }
    force = held[at];
#endif
    if (i >= N || lane > 0)
        return;
    if (part > 0)
        forces[i] = (float4)(force, 0.0f);
    if (part < 2) {
        float3 speed = v[i].xyz + (part ? 0.5f : 1.0f) * kicks[own.w] * force;
        v[i] = (float4)(speed, 0.0f);
        if (part == 0)
            x_new[i] = drifted(own, STEP * speed, start[i], ids[i], look, status);
    }
}
