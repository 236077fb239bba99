// The first convolution in portable OpenCL C, of numbers of several bits, with threshold, pooling and packing.
//
// A work-item gathers the window of one output position (four windows where pooling follows), four bytes a word, and
// takes it through 32 channels, whose bits are one word of output. Weights of +1 and -1 and thresholds are in local memory.
//
// The host defines SIDE, KERNEL, PAD, POOL, CHANNELS (in), SIDE_SUMS, OUT_WORDS, LOCAL, DP4A (PTX).

#define SIDE_OUT (POOL ? SIDE_SUMS / 2 : SIDE_SUMS)
#define PARTS (POOL ? 4 : 1)
#define PRODUCTS (KERNEL * KERNEL * CHANNELS)
#define QUADS ((PRODUCTS + 3) / 4)

static inline int dot(uint a, uint b, int sum) {
#if DP4A
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
#else
    for (int i = 0; i < 4; ++i) sum += ((int)(a << (24 - 8 * i)) >> 24) * ((int)(b << (24 - 8 * i)) >> 24);
#endif
    return sum;
}

__kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void layer(__global const char *restrict in,
                                                                      __global uint *restrict out,
                                                                      __global const uint *restrict weights,
                                                                      __global const int *restrict thresholds, int n) {
    __local uint signs[32 * QUADS];
    __local int limits[32];
    const int local_id = get_local_id(0), word = get_group_id(0) % OUT_WORDS;
    for (int e = local_id; e < 32 * QUADS; e += LOCAL) signs[e] = weights[word * 32 * QUADS + e];
    for (int e = local_id; e < 32; e += LOCAL) limits[e] = thresholds[word * 32 + e];
    barrier(CLK_LOCAL_MEM_FENCE);
    const long unit = (long)(get_group_id(0) / OUT_WORDS) * LOCAL + local_id;
    if (unit < (long)n * SIDE_OUT * SIDE_OUT) {
        const int at = (int)(unit % (SIDE_OUT * SIDE_OUT));
        __global const char *image = in + unit / (SIDE_OUT * SIDE_OUT) * (SIDE * SIDE * CHANNELS);
        uint bits = 0;
        for (int part = 0; part < PARTS; ++part) {
            const int y = (POOL ? at / SIDE_OUT * 2 + part / 2 : at / SIDE_OUT) - PAD;
            const int x = (POOL ? at % SIDE_OUT * 2 + part % 2 : at % SIDE_OUT) - PAD;
            uint window[QUADS];
#pragma unroll
            for (int q = 0; q < QUADS; ++q) {
                uint quad = 0;
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const int k = 4 * q + i, tap = k / CHANNELS;
                    const int iy = y + tap / KERNEL, ix = x + tap % KERNEL;
                    if (k < PRODUCTS && iy >= 0 && iy < SIDE && ix >= 0 && ix < SIDE)
                        quad |= (uint)(uchar)image[(iy * SIDE + ix) * CHANNELS + k % CHANNELS] << (8 * i);
                }
                window[q] = quad;
            }
            for (int c = 0; c < 32; ++c) {
                int sum = 0;
#pragma unroll
                for (int q = 0; q < QUADS; ++q) sum = dot(window[q], signs[c * QUADS + q], sum);
                bits |= (uint)(sum >= limits[c]) << c;
            }
        }
        out[unit * OUT_WORDS + word] = bits;
    }
}

__kernel void nothing(__global char *p) {}
