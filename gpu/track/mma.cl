// The whole network on NVIDIA tensor cores, one text for OpenCL C and CUDA C++ (inline PTX, sm_80 and later).
//
// A warp takes TILES tiles of 16 hits through all layers without leaving its registers: the accumulator fragments of two
// neighbouring n8 tiles, rounded to half, are exactly the A fragment of the next layer's k16 step (PTX ISA, "Matrix
// fragments for mma.m16n8k16"). Weights, biases and ranges stay in registers; the host lays them out by lane.
//
// Fixed point is exact here. Operands are integers of at most 11 significant bits times a power of two, which half holds,
// and every partial sum is below 2^24 units, which the host proves. Each hidden value q travels as 1024 + q: there a half
// has a unit in the last place of 1, so rounding towards zero is the floor, and the offset goes out in the next bias.
//
// The host defines LOCAL, TILES, N_IN, N_OUT, REGS, FIXED, KT (k16 steps) and NT (n8 tiles) at most, and generates LAYERS.

#ifdef __OPENCL_VERSION__
#define GLOBAL __global
#define KERNEL __kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1)))
#define INLINE static inline __attribute__((always_inline))
#define THREAD ((int)get_local_id(0))
#define GROUP ((int)get_group_id(0))
#define GROUPS ((int)get_num_groups(0))
#define AS_FLOAT as_float
#define AS_UINT as_uint
#else
#define GLOBAL
#define KERNEL extern "C" __global__ __launch_bounds__(LOCAL)
#define INLINE static __device__ __forceinline__
#define THREAD ((int)threadIdx.x)
#define GROUP ((int)blockIdx.x)
#define GROUPS ((int)gridDim.x)
#define AS_FLOAT __uint_as_float
#define AS_UINT __float_as_uint
#define restrict __restrict__
typedef unsigned int uint;
typedef unsigned short ushort;
#endif

#define OFFSET_PAIR 0x64006400u  // two halves of 1024

INLINE void mma16(float *d, const uint *a, uint b0, uint b1, const float *c) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

INLINE void mma8(float *d, const uint *a, uint b0, const float *c) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(b0), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

// Two neighbouring sums to the two halves of an operand of the next layer.
INLINE uint pair_relu(float x, float y, uint range) {
    uint h;
    asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(y), "f"(x));
    return h;
}

INLINE uint pair_linear(float x, float y, uint range) {
    uint h;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(y), "f"(x));
    return h;
}

// The sums carry + 1024; clamp to [1024, range].
INLINE uint pair_saturate(float x, float y, uint range) {
    uint h;
    asm("{.reg .b32 t; cvt.rz.f16x2.f32 t, %1, %2; max.f16x2 t, t, %3; min.f16x2 %0, t, %4;}"
        : "=r"(h) : "f"(y), "f"(x), "r"(OFFSET_PAIR), "r"(range));
    return h;
}

// The same for sums that have no room for the offset below 2^24 units: add it here, truncated; truncating twice is floor.
INLINE uint pair_saturate_late(float x, float y, uint range) {
    uint h;
    asm("{.reg .b32 t; .reg .f32 p, q; add.rz.f32 p, %1, 0f44800000; add.rz.f32 q, %2, 0f44800000;"
        " cvt.rz.f16x2.f32 t, p, q; max.f16x2 t, t, %3; min.f16x2 %0, t, %4;}"
        : "=r"(h) : "f"(y), "f"(x), "r"(OFFSET_PAIR), "r"(range));
    return h;
}

// ReLU, floor by adding 2^23 rounded down, and the low bits that `range` masks.
INLINE uint pair_wrap(float x, float y, uint range) {
    uint h;
    asm("{.reg .f32 p, q; .reg .b32 t, u; max.f32 p, %1, 0f00000000; max.f32 q, %2, 0f00000000;"
        " add.rm.f32 p, p, 0f4B000000; add.rm.f32 q, q, 0f4B000000; mov.b32 t, p; mov.b32 u, q;"
        " prmt.b32 t, t, u, 0x5410; and.b32 t, t, %3; or.b32 %0, t, %4;}"
        : "=r"(h) : "f"(x), "f"(y), "r"(range), "r"(OFFSET_PAIR));
    return h;
}

INLINE uint read_two(GLOBAL const ushort *restrict in, int row, int column, int n) {
    uint low = 0, high = 0;
    if (row < n && column < N_IN) low = in[row * N_IN + column];
    if (row < n && column + 1 < N_IN) high = in[row * N_IN + column + 1];
    return low | (high << 16);
}

INLINE uint decode(uint two) {
#if FIXED
    uint h;
    asm("{.reg .b16 a, b; mov.b32 {a, b}, %1; cvt.rn.f16.s16 a, a; cvt.rn.f16.s16 b, b; mov.b32 %0, {a, b};}"
        : "=r"(h) : "r"(two));
    return h;
#else
    return two;
#endif
}

#if FIXED
// One output: floor, clamp or wrap into its range, shift to the output grid.
INLINE uint finish(float c, uint low, uint high, uint up) {
    const float r = floor(c);
#if LAST_WRAP
    int i = (int)(LAST_RELU ? fmax(r, 0.0f) : r);
    i = ((i - (int)low) & ((int)high - (int)low)) + (int)low;
#else
    const int i = (int)fmin(fmax(r, (float)(int)low), (float)(int)high);
#endif
    return ((uint)i << up) & 0xFFFFu;
}
#endif

#define UNROLLED _Pragma("unroll")

// Sums of one layer: WOFF first weight register, BOFF first bias register.
#define FIRST(NTS, WOFF, BOFF)                                                                                         \
    UNROLLED for (int j = 0; j < NTS; ++j) UNROLLED for (int u = 0; u < TILES; ++u) {                                  \
        const float bias[4] = {AS_FLOAT(w[BOFF + 2 * j]), AS_FLOAT(w[BOFF + 2 * j + 1]), AS_FLOAT(w[BOFF + 2 * j]),    \
                               AS_FLOAT(w[BOFF + 2 * j + 1])};                                                         \
        mma8(c[u][j], x[u], w[WOFF + j], bias);                                                                        \
    }
#define DENSE(KTS, NTS, WOFF, BOFF)                                                                                    \
    UNROLLED for (int j = 0; j < NTS; ++j) UNROLLED for (int u = 0; u < TILES; ++u) {                                  \
        const float bias[4] = {AS_FLOAT(w[BOFF + 2 * j]), AS_FLOAT(w[BOFF + 2 * j + 1]), AS_FLOAT(w[BOFF + 2 * j]),    \
                               AS_FLOAT(w[BOFF + 2 * j + 1])};                                                         \
        mma16(c[u][j], a[u][0], w[WOFF + 2 * j], w[WOFF + 2 * j + 1], bias);                                           \
        UNROLLED for (int k = 1; k < KTS; ++k)                                                                         \
            mma16(c[u][j], a[u][k], w[WOFF + 2 * (k * NTS + j)], w[WOFF + 2 * (k * NTS + j) + 1], c[u][j]);            \
    }
// Sums to the operands of the next layer: QOFF first range register.
#define PACK(NTS, PAIR, QOFF)                                                                                          \
    UNROLLED for (int j = 0; j < NTS; ++j) UNROLLED for (int u = 0; u < TILES; ++u) {                                  \
        a[u][j / 2][2 * (j % 2)] = PAIR(c[u][j][0], c[u][j][1], w[QOFF + j]);                                          \
        a[u][j / 2][2 * (j % 2) + 1] = PAIR(c[u][j][2], c[u][j][3], w[QOFF + j]);                                      \
    }

KERNEL void mlp(GLOBAL const ushort *restrict in, GLOBAL uint *restrict out, GLOBAL const uint4 *restrict weights,
                const int n) {
    const int lane = THREAD & 31, row = lane >> 2, column = 2 * (lane & 3);
    const int tiles = (n + 16 * TILES - 1) / (16 * TILES), step = GROUPS * (LOCAL / 32);
    int tile = GROUP * (LOCAL / 32) + (THREAD >> 5);
    if (tile >= tiles) return;
    uint w[REGS];
    UNROLLED for (int i = 0; i < REGS / 4; ++i) {
        const uint4 v = weights[i * 32 + lane];
        w[4 * i] = v.x, w[4 * i + 1] = v.y, w[4 * i + 2] = v.z, w[4 * i + 3] = v.w;
    }
    uint next[TILES][2];
    UNROLLED for (int u = 0; u < 2 * TILES; ++u)
        next[u / 2][u % 2] = read_two(in, (tile * 2 * TILES + u) * 8 + row, column, n);
    for (; tile < tiles; tile += step) {
        uint x[TILES][2], a[TILES][KT][4];
        float c[TILES][NT][4];
        UNROLLED for (int u = 0; u < 2 * TILES; ++u) x[u / 2][u % 2] = decode(next[u / 2][u % 2]);
        // The next tile's inputs are on their way while this one is computed.
        if (tile + step < tiles) {
            UNROLLED for (int u = 0; u < 2 * TILES; ++u)
                next[u / 2][u % 2] = read_two(in, ((tile + step) * 2 * TILES + u) * 8 + row, column, n);
        }
        //@LAYERS@
        UNROLLED for (int u = 0; u < 2 * TILES; ++u) {
            const int hit = (tile * 2 * TILES + u) * 8 + row;
            if (hit < n && column < N_OUT) {
                const float p = c[u / 2][0][2 * (u % 2)], q = c[u / 2][0][2 * (u % 2) + 1];
#if FIXED
                const uint two = finish(p, w[LAST], w[LAST + 1], w[LAST + 2]) |
                                 (finish(q, w[LAST + 3], w[LAST + 4], w[LAST + 5]) << 16);
#else
                const uint two = pair_linear(p, q, 0);
#endif
                out[(hit * N_OUT + column) / 2] = two;
            }
        }
    }
}

KERNEL void nothing(GLOBAL const ushort *in) {}
