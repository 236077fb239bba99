// What turns a sum into an output, for any OpenCL device: bias, rounding, activation; see workloads/deconv/fixed.py.
//
// The host defines FIXED (bits, or 0 for real numbers), HALF (binary16 in memory), NUM (numbers in memory), ACC (sums),
// FRACTION, WIDE (loads of vectors), and ACTIVATION: 0 linear, 1 clip, 2 tanh, 3 sigmoid (2 and 3 in fixed point: a table).

__kernel void nothing(__global char *p) {}

#if FIXED
#define TOP ((1 << (FIXED - 1)) - 1)

static inline int finish(ACC sum, __global const short *table) {
#if FRACTION
    const ACC rounded = (sum + ((ACC)1 << (FRACTION - 1))) >> FRACTION;
#else
    const ACC rounded = sum;
#endif
#if ACTIVATION < 2
    return (int)clamp(rounded, (ACC)(ACTIVATION ? 0 : -TOP - 1), (ACC)TOP);
#elif FIXED == 8
    return table[(int)clamp(rounded, (ACC)-512, (ACC)511) + 512];
#else
    const int address = (int)clamp(rounded, (ACC)(-512 * 256), (ACC)(512 * 256 - 1)) + 512 * 256;
    const int entry = table[address >> 8], step = table[(address >> 8) + 1] - entry;
    return clamp(entry + ((step * (address & 255) + 128) >> 8), -TOP - 1, TOP);
#endif
}
#else
static inline float finish(float sum, __global const short *table) {
#if ACTIVATION == 1
    return clamp(sum, 0.0f, 1.0f);
#elif ACTIVATION == 2
    return tanh(sum);
#elif ACTIVATION == 3
    return 1.0f / (1.0f + exp(-sum));
#else
    return sum;
#endif
}
#endif

#if HALF
// Four binary16 numbers; on a GPU as one load of eight bytes, which the compiler doesn't make by itself.
static inline float4 halves(__global const half *p, long at) {
#if WIDE
    const uint2 v = *(__global const uint2 *)(p + at);
    return vload_half4(0, (const half *)&v);
#else
    return vload_half4(0, p + at);
#endif
}
#endif

static inline void put(__global NUM *out, long at, ACC sum, __global const short *table) {
#if HALF
    vstore_half_rte(finish(sum, table), at, out);
#else
    out[at] = (NUM)finish(sum, table);
#endif
}
