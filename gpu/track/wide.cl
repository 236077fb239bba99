// A network with equal wide hidden layers (Exa.TrkX: 6 x 512) on NVIDIA tensor cores, one text for OpenCL C and CUDA C++.
//
// A group takes M_TILES x 16 hits through all layers. Their activations stay in shared memory as halves, overwritten in
// place layer by layer; each warp computes NT x 8 columns for all the hits, with its weights streamed from the L2 in
// fragment order. Within 16 columns the halves are stored so that one 8-byte read gives a lane its part of an A fragment:
// columns 2t, 2t+1, 2t+8, 2t+9 lie together (PTX ISA, "Matrix fragments for mma.m16n8k16").
//
// The host defines WARPS, M_TILES, NT (even), N_IN (at most 16), N_OUT (even, at most 8), HIDDEN, DEPTH (hidden layers),
// ROW (words between rows in shared memory; 8 modulo 32, so that no banks collide), BIAS (word offset of the biases), TANH.

#ifdef __OPENCL_VERSION__
#define GLOBAL __global
#define SHARED __local
#define KERNEL __kernel __attribute__((reqd_work_group_size(WARPS * 32, 1, 1)))
#define INLINE static inline __attribute__((always_inline))
#define THREAD ((int)get_local_id(0))
#define GROUP ((int)get_group_id(0))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define PAIR(x, y) ((uint2)(x, y))
#else
#define GLOBAL
#define SHARED
#define KERNEL extern "C" __global__ __launch_bounds__(WARPS * 32)
#define INLINE static __device__ __forceinline__
#define THREAD ((int)threadIdx.x)
#define GROUP ((int)blockIdx.x)
#define BARRIER __syncthreads()
#define PAIR(x, y) make_uint2(x, y)
#define restrict __restrict__
typedef unsigned int uint;
typedef unsigned short ushort;
#endif
#define UNROLLED _Pragma("unroll")

INLINE void mma16(float *d, const uint *a, uint b0, uint b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

INLINE uint halves(float x, float y) {
    uint h;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(y), "f"(x));
    return h;
}

INLINE float activate(float x) {
#if TANH
    float y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return x > 0.0f ? x : 0.0f;
#endif
}

// The A fragment of m16 tile `m`, k16 step `k`.
INLINE void fragment(SHARED const uint2 *act, int m, int k, int lane, uint *a) {
    const uint2 low = act[((16 * m + (lane >> 2)) * ROW + 8 * k) / 2 + (lane & 3)];
    const uint2 high = act[((16 * m + 8 + (lane >> 2)) * ROW + 8 * k) / 2 + (lane & 3)];
    a[0] = low.x, a[1] = high.x, a[2] = low.y, a[3] = high.y;
}

KERNEL void mlp(GLOBAL const ushort *restrict in, GLOBAL uint *restrict out, GLOBAL const uint4 *restrict weights,
                const int n) {
#ifdef __OPENCL_VERSION__
    __local uint2 act[M_TILES * 16 * ROW / 2];
#else
    extern __shared__ uint2 act[];
#endif
    SHARED ushort *const input = (SHARED ushort *)act;
    GLOBAL const float *const bias = (GLOBAL const float *)weights + BIAS;
    const int lane = THREAD & 31, warp = THREAD >> 5, first = GROUP * M_TILES * 16;

    for (int i = THREAD; i < M_TILES * 16 * 16; i += WARPS * 32) {
        const int row = i / 16, column = i % 16;
        const ushort value = (first + row < n && column < N_IN) ? in[(first + row) * N_IN + column] : (ushort)0;
        input[row * ROW * 2 + (column % 8 / 2) * 4 + column / 8 * 2 + column % 2] = value;
    }
    BARRIER;

    int steps = 1;  // k16 steps of this layer
    for (int layer = 0; layer < DEPTH; ++layer) {
        float c[M_TILES][NT][4];
        UNROLLED for (int j = 0; j < NT; ++j) {
            const int column = layer * HIDDEN + (warp * NT + j) * 8 + 2 * (lane & 3);
            UNROLLED for (int m = 0; m < M_TILES; ++m) {
                c[m][j][0] = c[m][j][2] = bias[column];
                c[m][j][1] = c[m][j][3] = bias[column + 1];
            }
        }
        // Sixteen columns of weights are 32 lanes x 16 bytes.
        GLOBAL const uint4 *w = weights + (warp * NT / 2) * 32 + lane;
        uint4 next[NT / 2];
        UNROLLED for (int j = 0; j < NT / 2; ++j) next[j] = w[j * 32];
        for (int k = 0; k < steps; ++k) {
            uint4 b[NT / 2];
            UNROLLED for (int j = 0; j < NT / 2; ++j) b[j] = next[j];
            if (k + 1 < steps) {
                w += HIDDEN / 16 * 32;
                UNROLLED for (int j = 0; j < NT / 2; ++j) next[j] = w[j * 32];
            }
            UNROLLED for (int m = 0; m < M_TILES; ++m) {
                uint a[4];
                fragment(act, m, k, lane, a);
                UNROLLED for (int j = 0; j < NT / 2; ++j) {
                    mma16(c[m][2 * j], a, b[j].x, b[j].y);
                    mma16(c[m][2 * j + 1], a, b[j].z, b[j].w);
                }
            }
        }
        weights += steps * (HIDDEN / 16) * 32;
        steps = HIDDEN / 16;
        BARRIER;  // all have read; overwrite
        UNROLLED for (int m = 0; m < M_TILES; ++m) UNROLLED for (int j = 0; j < NT / 2; ++j) {
            UNROLLED for (int h = 0; h < 2; ++h) {
                const uint low = halves(activate(c[m][2 * j][2 * h]), activate(c[m][2 * j][2 * h + 1]));
                const uint high = halves(activate(c[m][2 * j + 1][2 * h]), activate(c[m][2 * j + 1][2 * h + 1]));
                act[((16 * m + 8 * h + (lane >> 2)) * ROW + 8 * (warp * NT / 2 + j)) / 2 + (lane & 3)] = PAIR(low, high);
            }
        }
        BARRIER;
    }

    // The last layer has one n8 tile; warp m takes m16 tile m. Two k16 steps of weights are 32 lanes x 16 bytes.
    for (int m = warp; m < M_TILES; m += WARPS) {
        const int column = 2 * (lane & 3), hit = first + 16 * m + (lane >> 2);
        float c[4];
        c[0] = c[2] = bias[DEPTH * HIDDEN + column];
        c[1] = c[3] = bias[DEPTH * HIDDEN + column + 1];
        UNROLLED for (int k = 0; k < HIDDEN / 16; k += 2) {
            const uint4 b = weights[k / 2 * 32 + lane];
            uint a[4];
            fragment(act, m, k, lane, a);
            mma16(c, a, b.x, b.y);
            fragment(act, m, k + 1, lane, a);
            mma16(c, a, b.z, b.w);
        }
        if (column < N_OUT) {
            if (hit < n) out[(hit * N_OUT + column) / 2] = halves(c[0], c[1]);
            if (hit + 8 < n) out[((hit + 8) * N_OUT + column) / 2] = halves(c[2], c[3]);
        }
    }
}

KERNEL void nothing(GLOBAL const ushort *in) {}
