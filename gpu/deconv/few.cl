// A layer of few channels out: a work-item computes all phases of TQ neighbouring positions, so that each input that
// it reads serves every tap that has it. Inputs outside the bounds are not read.
//
// Weights are in local memory, four channels in together: [CIN / 4][tap][COUT][4]. The host writes the statements of
// one channel group for one line of inputs, LINE(z, y), because sums must be in registers: see `reverse.py`.
//
// The host defines the shape as in tile.cl, TQ, LOCAL, SPAN and LOW (inputs LOW ... LOW + SPAN - 1 of a position's row),
// TAPS, PHASES, T, UNIT, PACK (4: four channels are one dp4a), LINES and PUTS.

#define LOADED (4 / PACK)
#define WORDS (CIN / 4 * TAPS * COUT * LOADED)
#define QX ((PX + TQ - 1) / TQ)

typedef struct {
    T s[LOADED];
} Four;

static inline Four four(__global const UNIT *p, long at) {
    Four q;
#if PACK == 4
    q.s[0] = p[at];
#elif HALF
    const float4 v = halves(p, at);
    q.s[0] = v.x, q.s[1] = v.y, q.s[2] = v.z, q.s[3] = v.w;
#else
    for (int i = 0; i < 4; ++i) q.s[i] = (T)p[at + i];
#endif
    return q;
}

static inline ACC dot4(Four x, __local const T *w, ACC sum) {
#if PACK == 4
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(x.s[0]), "r"(w[0]));
#elif FIXED
    for (int i = 0; i < 4; ++i) sum += (ACC)x.s[i] * w[i];
#else
    const float4 v = *(__local const float4 *)w;
    sum = mad(x.s[0], v.x, mad(x.s[1], v.y, mad(x.s[2], v.z, mad(x.s[3], v.w, sum))));
#endif
    return sum;
}

__kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void layer(__global const UNIT *restrict in,
                                                                      __global NUM *restrict out,
                                                                      __global const UNIT *restrict weights,
                                                                      __global const ACC *restrict biases,
                                                                      __global const short *restrict table, int n) {
    __local T shared[WORDS] __attribute__((aligned(16)));
    for (int e = get_local_id(0); e < WORDS; e += LOCAL)
#if HALF
        shared[e] = vload_half(e, weights);
#else
        shared[e] = (T)weights[e];
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    const long unit = get_global_id(0);
    if (unit >= (long)n * PZ * PY * QX) return;
    const int qx = (int)(unit % QX) * TQ, qy = (int)(unit / QX % PY), qz = (int)(unit / (QX * PY) % PZ);
    const long item = unit / ((long)QX * PY * PZ);
    ACC sums[PHASES * COUT * TQ];
    for (int i = 0; i < PHASES * COUT * TQ; ++i) sums[i] = 0;
    for (int group = 0; group < CIN / 4; ++group) {
        __local const T *w = shared + group * (TAPS * COUT * LOADED);
        LINES
    }
    PUTS
}
