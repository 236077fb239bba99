// The whole network on NVIDIA tensor cores, one text for OpenCL C and CUDA C++ (inline PTX, sm_80 and later).
//
// A warp takes TILES tiles of 16 hits through all layers without leaving its registers: the accumulator fragments of two
// neighbouring n8 tiles, rounded to half, are exactly the A fragment of the next layer's k16 step (PTX ISA, "Matrix
// fragments for mma.m16n8k16"). Weights, biases and ranges stay in registers; the host lays them out by lane.
//
// Fixed point is exact here. Every value is an integer times 2^-24, the unit of the smallest halves: operands have at most
// 11 significant bits, so that half holds them, and every partial sum is below 2^24 units, which the host proves, so that
// float32 holds it. Rounding a sum towards zero to half is then the floor to an integer.
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

// Fixed point: ReLU and floor in one conversion, because the halves below 2^-13 are the multiples of 2^-24. Enough where
// no sum can leave the range.
INLINE uint pair_floor(float x, float y, uint range) {
    uint h;
    asm("cvt.rz.relu.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(y), "f"(x));
    return h;
}

// Wrap where no sum reaches 2048: the bits of such a half are the integer itself.
INLINE uint pair_mask(float x, float y, uint range) { return pair_floor(x, y, 0) & range; }

// Floor, then clamp.
INLINE uint pair_saturate(float x, float y, uint range) {
    uint h;
    asm("{.reg .b32 t; cvt.rz.relu.f16x2.f32 t, %1, %2; min.f16x2 %0, t, %3;}" : "=r"(h) : "f"(y), "f"(x), "r"(range));
    return h;
}

// Wrap any sum: ReLU, floor by adding 1/2 rounded down (there a float counts in 2^-24 too), the low bits by `range`.
INLINE uint pair_wrap(float x, float y, uint range) {
    uint h;
    asm("{.reg .f32 p, q; .reg .b32 t, u; max.f32 p, %1, 0f00000000; max.f32 q, %2, 0f00000000;"
        " add.rm.f32 p, p, 0f3F000000; add.rm.f32 q, q, 0f3F000000; mov.b32 t, p; mov.b32 u, q;"
        " prmt.b32 t, t, u, 0x5410; and.b32 %0, t, %3;}"
        : "=r"(h) : "f"(x), "f"(y), "r"(range));
    return h;
}

// Two int16 inputs to two halves of x * 2^-24, or two halves as they are.
INLINE uint decode(uint two) {
#if FIXED && SMALL_INPUT
    // Up to 2048 the bits of such a half are its sign and magnitude.
    uint h;
    asm("{.reg .b32 m, v, u; prmt.b32 m, %1, 0, 0xBB99; xor.b32 v, %1, m; and.b32 u, m, 0x00010001; add.u32 v, v, u;"
        " and.b32 u, m, 0x80008000; or.b32 %0, v, u;}"
        : "=r"(h) : "r"(two));
    return h;
#elif FIXED
    uint h;
    asm("{.reg .b16 a, b; .reg .b32 v; mov.b32 {a, b}, %1; cvt.rn.f16.s16 a, a; cvt.rn.f16.s16 b, b; mov.b32 v, {a, b};"
        " mul.rn.f16x2 %0, v, %2;}"
        : "=r"(h) : "r"(two), "r"(0x00010001));
    return h;
#else
    return two;
#endif
}

#if FIXED
// One output of c units of 2^-24: floor by adding 3/4 rounded down, where a float counts in 2^-24 and its low bits are the
// integer; clamp or wrap into the range; shift to the output grid.
INLINE uint finish(float c, uint low, uint high, uint up) {
    float r;
#if LAST_RELU
    c = c > 0.0f ? c : 0.0f;
#endif
    asm("add.rm.f32 %0, %1, 0f3F400000;" : "=f"(r) : "f"(c));
    const int q = (int)AS_UINT(r) - 0x3F400000;
#if LAST_WRAP
    const int i = ((q - (int)low) & ((int)high - (int)low)) + (int)low;
#else
    const int i = min(max(q, (int)low), (int)high);
#endif
    return (LAST_UP ? (uint)i << up : (uint)i) & 0xFFFFu;
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
// Sums of n8 tile J to operands of the next layer: Q its range register. An odd number of tiles leaves half a k16 step.
#define PACK(J, PAIR, Q)                                                                                               \
    UNROLLED for (int u = 0; u < TILES; ++u) {                                                                         \
        a[u][J / 2][2 * (J % 2)] = PAIR(c[u][J][0], c[u][J][1], w[Q]);                                                 \
        a[u][J / 2][2 * (J % 2) + 1] = PAIR(c[u][J][2], c[u][J][3], w[Q]);                                             \
    }
#define PAD(J) UNROLLED for (int u = 0; u < TILES; ++u) a[u][J / 2][2] = a[u][J / 2][3] = 0;

// The word of each row of tile AT that this lane feeds to the first layer; past the end it is 0. Nothing here looks at
// what was loaded, so that the warp does not wait for it.
#define FETCH(INTO, AT)                                                                                                \
    if ((AT + 1) * 16 * TILES <= n) {                                                                                  \
        UNROLLED for (int u = 0; u < 2 * TILES; ++u) INTO[u] = source[(AT * 2 * TILES + u) * (4 * N_IN)];              \
    } else {                                                                                                           \
        UNROLLED for (int u = 0; u < 2 * TILES; ++u)                                                                   \
            INTO[u] = (AT * 2 * TILES + u) * 8 + row < n ? source[(AT * 2 * TILES + u) * (4 * N_IN)] : 0;              \
    }

// All layers for one tile: x its decoded inputs.
INLINE void layers(const uint (*x)[2], const uint *w, GLOBAL uint *restrict out, int tile, int row, int t, int n) {
    uint a[TILES][KT][4];
    float c[TILES][NT][4];
    //@LAYERS@
    const int whole = (tile + 1) * 16 * TILES <= n;
    UNROLLED for (int u = 0; u < 2 * TILES; ++u) {
        const int hit = (tile * 2 * TILES + u) * 8 + row;
        if (2 * t < N_OUT && (whole || hit < n)) {
            const float p = c[u / 2][0][2 * (u % 2)], q = c[u / 2][0][2 * (u % 2) + 1];
#if FIXED
            const uint two = finish(p, w[LAST], w[LAST + 1], w[LAST + 2]) |
                             (finish(q, w[LAST + 3], w[LAST + 4], w[LAST + 5]) << 16);
#else
            const uint two = pair_linear(p, q, 0);
#endif
            out[hit * (N_OUT / 2) + t] = two;
        }
    }
}

KERNEL void mlp(GLOBAL const uint *restrict in, GLOBAL uint *restrict out, GLOBAL const uint4 *restrict weights,
                const int n) {
    const int lane = THREAD & 31, row = lane >> 2, t = lane & 3;
    const int tiles = (n + 16 * TILES - 1) / (16 * TILES), step = GROUPS * (LOCAL / 32);
    int tile = GROUP * (LOCAL / 32) + (THREAD >> 5);
    if (tile >= tiles) return;
    // Which word of its row a lane reads, and what of it counts. With an odd number of inputs the words of even and odd
    // rows cut differently, so odd rows use the slots of lanes 2 and 3, where the host has put the weights once more.
#if N_IN % 2
    const int odd = row & 1, slot = odd ? t - 2 : t, words = (N_IN + 1) / 2;
    const int used = odd ? (t >= 2 && slot < words) : t < words;
    uint mask = used ? 0xFFFFFFFFu : 0;
    if (used && !odd && slot == words - 1) mask = 0x0000FFFFu;
    if (used && odd && slot == 0) mask = 0xFFFF0000u;
    const int at = used ? (row * N_IN - odd) / 2 + slot : 0;
#else
    const uint mask = 2 * t < N_IN ? 0xFFFFFFFFu : 0;
    const int at = mask ? row * (N_IN / 2) + t : 0;
#endif
    GLOBAL const uint *restrict const source = in + at;
    // Two tiles of inputs are on their way while one is computed.
    uint w[REGS], first[2 * TILES], second[2 * TILES], x[TILES][2];
    FETCH(first, tile)
    FETCH(second, (tile + step))
    UNROLLED for (int i = 0; i < REGS / 4; ++i) {
        const uint4 v = weights[i * 32 + lane];
        w[4 * i] = v.x, w[4 * i + 1] = v.y, w[4 * i + 2] = v.z, w[4 * i + 3] = v.w;
    }
    for (;;) {
        UNROLLED for (int u = 0; u < 2 * TILES; ++u) x[u / 2][u % 2] = decode(first[u] & mask);
        FETCH(first, (tile + 2 * step))
        layers(x, w, out, tile, row, t, n);
        tile += step;
        if (tile >= tiles) break;
        UNROLLED for (int u = 0; u < 2 * TILES; ++u) x[u / 2][u % 2] = decode(second[u] & mask);
        FETCH(second, (tile + 2 * step))
        layers(x, w, out, tile, row, t, n);
        tile += step;
        if (tile >= tiles) break;
    }
}

KERNEL void nothing(GLOBAL const uint *in) {}
