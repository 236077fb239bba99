// A layer as small matrix products, one for each tap of a phase: positions times channels in, channels in times out.
//
// The reverse loop: a group takes BP positions of BI items of one phase (outputs at stride q + offset) and BN channels
// out, adds up all taps of the phase over all channels in, and writes finished outputs. Input q - reach is tested
// against the bounds: outside there is nothing to read, and a tap for which that holds in the whole tile is skipped
// (tiles of one position, BP 1, test once).
//
// A work-item has TM rows (positions and items) by TN channels of sums; BK channels in are in local memory at once, in
// units of PACK channels (4 for dp4a). Weights: [tap][unit][COUT_FILLED].
//
// The host defines the shape (IZ IY IX sides in, OZ OY OX out, PZ PY PX positions, STRIDE, CIN, COUT, COUT_FILLED),
// PHASES, BP BI BN BK TM TN TX TY, PACK, LOADS (4 or 1 units a load), WIDE (loads of vectors), T (local numbers),
// UNIT (a unit in memory), TABLE, and the tables OFFSETS, FIRST (taps of each phase), REACH.

#define BM (BP * BI)
#define LOCAL (TX * TY)
#define BKU (BK / PACK)
#define CINU (CIN / PACK)
#define POSITIONS (PZ * PY * PX)
#define P_TILES ((POSITIONS + BP - 1) / BP)
#define N_TILES (COUT_FILLED / BN)
#define ROW (BM + (BM > 4 ? 4 : 0))
#define OUTSIDE -1

__constant int offsets[] = OFFSETS;
__constant int first[] = FIRST;
__constant int reach[] = REACH;

typedef struct {
    T s[4];
} Quad;

static inline Quad four(__global const UNIT *p, long at) {
    Quad q;
#if HALF
    const float4 v = halves(p, at);
    q.s[0] = v.x, q.s[1] = v.y, q.s[2] = v.z, q.s[3] = v.w;
#elif WIDE
    p += at;
    if (sizeof(UNIT) == 4) {
        const int4 v = *(__global const int4 *)p;
        q.s[0] = AS_T(v.x), q.s[1] = AS_T(v.y), q.s[2] = AS_T(v.z), q.s[3] = AS_T(v.w);
    } else {
        const short4 v = *(__global const short4 *)p;
        q.s[0] = v.x, q.s[1] = v.y, q.s[2] = v.z, q.s[3] = v.w;
    }
#else
    for (int i = 0; i < 4; ++i) q.s[i] = (T)p[at + i];
#endif
    return q;
}

static inline T one(__global const UNIT *p, long at) {
#if HALF
    return vload_half(at, p);
#else
    return (T)p[at];
#endif
}

static inline ACC mac(T a, T b, ACC sum) {
#if PACK == 4
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
#elif FIXED
    return sum + (ACC)a * b;
#else
    return mad(a, b, sum);
#endif
}

__kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void layer(__global const UNIT *restrict in,
                                                                      __global NUM *restrict out,
                                                                      __global const UNIT *restrict weights,
                                                                      __global const ACC *restrict biases,
                                                                      __global const short *restrict table, int n) {
    __local T a[BKU * ROW] __attribute__((aligned(16)));
    __local T b[BKU * BN] __attribute__((aligned(16)));
    __local int place[BM];
    const int lid = get_local_id(0), tx = lid % TX, ty = lid / TX;
    long g = get_group_id(0);
    const int channel = (int)(g % N_TILES) * BN;
    g /= N_TILES;
    const int phase = (int)(g % PHASES);
    g /= PHASES;
    const int position = (int)(g % P_TILES) * BP, item = (int)(g / P_TILES) * BI;
    const int fz = offsets[3 * phase], fy = offsets[3 * phase + 1], fx = offsets[3 * phase + 2];

    for (int r = lid; r < BM; r += LOCAL) {
        const int at = position + r % BP, z = at / (PY * PX), y = at / PX % PY, x = at % PX;
        const int exists = at < POSITIONS && item + r / BP < n && STRIDE * z + fz < OZ && STRIDE * y + fy < OY &&
                           STRIDE * x + fx < OX;
        place[r] = exists ? (z << 20) + (y << 10) + x : OUTSIDE;
    }
    ACC sums[TM][TN];
    UNROLL
    for (int i = 0; i < TM; ++i)
        UNROLL
        for (int j = 0; j < TN; ++j) sums[i][j] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int tap = first[phase]; tap < first[phase + 1]; ++tap) {
        const int rz = reach[3 * tap], ry = reach[3 * tap + 1], rx = reach[3 * tap + 2];
#if BP == 1
        const int z = position / (PY * PX) - rz, y = position / PX % PY - ry, x = position % PX - rx;
        if (z < 0 || z >= IZ || y < 0 || y >= IY || x < 0 || x >= IX) continue;
#endif
        for (int chunk = 0; chunk < CINU; chunk += BKU) {
            for (int e = lid; e < BM * BKU / LOADS; e += LOCAL) {
                const int r = e / (BKU / LOADS), u = e % (BKU / LOADS) * LOADS, at = place[r];
                const int z = (at >> 20) - rz, y = (at >> 10 & 1023) - ry, x = (at & 1023) - rx;
                const int inside = at != OUTSIDE && z >= 0 && z < IZ && y >= 0 && y < IY && x >= 0 && x < IX;
                const long from = (((long)(item + r / BP) * IZ + z) * IY + y) * IX + x;
#if LOADS == 4
                Quad q;
                if (inside) q = four(in, from * CINU + chunk + u);
                else q.s[0] = q.s[1] = q.s[2] = q.s[3] = 0;
                for (int i = 0; i < 4; ++i) a[(u + i) * ROW + r] = q.s[i];
#else
                a[u * ROW + r] = inside ? one(in, from * CINU + chunk + u) : 0;
#endif
            }
            const long rows = (long)tap * CINU + chunk;
            for (int e = lid; e < BKU * BN / 4; e += LOCAL) {
                const Quad q = four(weights, (rows + e / (BN / 4)) * COUT_FILLED + channel + e % (BN / 4) * 4);
                for (int i = 0; i < 4; ++i) b[e * 4 + i] = q.s[i];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            UNROLL
            for (int k = 0; k < BKU; ++k) {
                T left[TM], right[TN];
                UNROLL
                for (int i = 0; i < TM; ++i) left[i] = a[k * ROW + ROW_OF(i)];
                UNROLL
                for (int j = 0; j < TN; ++j) right[j] = b[k * BN + COLUMN_OF(j)];
                UNROLL
                for (int i = 0; i < TM; ++i)
                    UNROLL
                    for (int j = 0; j < TN; ++j) sums[i][j] = mac(left[i], right[j], sums[i][j]);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }

    UNROLL
    for (int i = 0; i < TM; ++i) {
        const int r = ROW_OF(i), at = place[r];
        if (at == OUTSIDE) continue;
        const int z = STRIDE * (at >> 20) + fz, y = STRIDE * (at >> 10 & 1023) + fy, x = STRIDE * (at & 1023) + fx;
        const long to = ((((long)(item + r / BP) * OZ + z) * OY + y) * OX + x) * COUT + channel;
        UNROLL
        for (int j = 0; j < TN; ++j)
            if (channel + COLUMN_OF(j) < COUT)
                put(out, to + COLUMN_OF(j), sums[i][j] + biases[channel + COLUMN_OF(j)], table);
    }
}
