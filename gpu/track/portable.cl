// The whole network in one kernel, for any OpenCL device. Each work-item evaluates VEC hits, held in the lanes of a
// vector, so that a CPU fills its SIMD units and a GPU reuses each weight VEC times.
//
// The host defines T (float, int or long), VT (T or a vector of VEC), IN, OUT, N_IN, N_OUT, WIDTH (largest layer), VEC,
// LOCAL, FIXED, WSPACE (__constant or __global), UNROLL, and generates the constants and LAYERS.

#define LANE(v, k) (((T *)&(v))[k])

#if FIXED
// q holds four numbers an output: shift (or its scale), low, high (or the modulus), and the modulus' reciprocal.
#if REAL
#define SATURATE(acc, q, relu) clamp(floor((acc) * (q)[0]), (q)[1], (q)[2])
inline VT wrap(VT r, T low, T modulus, T reciprocal) { return r - floor((r - low) * reciprocal) * modulus; }
#define WRAP(acc, q, relu) \
    wrap((relu) ? fmax(floor((acc) * (q)[0]), (VT)0) : floor((acc) * (q)[0]), (q)[1], (q)[2], (q)[3])
#else
#define SATURATE(acc, q, relu) clamp((acc) >> (VT)(q)[0], (VT)(q)[1], (VT)(q)[2])
inline VT wrap(VT r, T low, T modulus) { return ((r - low) & (VT)(modulus - 1)) + low; }
#define WRAP(acc, q, relu) \
    wrap((relu) ? max((acc) >> (VT)(q)[0], (VT)0) : ((acc) >> (VT)(q)[0]), (q)[1], (q)[2])
#endif
#else
#define RELU(acc, q, relu) fmax(acc, (VT)0)
#define TANH(acc, q, relu) tanh(acc)
#define LINEAR(acc, q, relu) (acc)
#endif

#if REAL
#define MAD(x, w, acc) mad(x, (VT)(w), acc)
#else
#define MAD(x, w, acc) ((x) * (VT)(w) + (acc))
#endif

// Outputs are taken four at a time, so that each input read serves four sums; the host pads the rows with zeros.
#define DENSE(NAME, INS, OUTS, FINISH, RELU_FIRST)                                                                     \
    inline void NAME(const VT *x, VT *y, WSPACE const T *w, WSPACE const T *b, WSPACE const T *q) {                    \
        UNROLL for (int j = 0; j < OUTS; j += 4) {                                                                     \
            VT c0 = (VT)b[j], c1 = (VT)b[j + 1], c2 = (VT)b[j + 2], c3 = (VT)b[j + 3];                                 \
            UNROLL for (int i = 0; i < INS; ++i) {                                                                     \
                c0 = MAD(x[i], w[i * OUTS + j], c0);                                                                   \
                c1 = MAD(x[i], w[i * OUTS + j + 1], c1);                                                               \
                c2 = MAD(x[i], w[i * OUTS + j + 2], c2);                                                               \
                c3 = MAD(x[i], w[i * OUTS + j + 3], c3);                                                               \
            }                                                                                                          \
            y[j] = FINISH(c0, q + 4 * j, RELU_FIRST);                                                                  \
            y[j + 1] = FINISH(c1, q + 4 * j + 4, RELU_FIRST);                                                          \
            y[j + 2] = FINISH(c2, q + 4 * j + 8, RELU_FIRST);                                                          \
            y[j + 3] = FINISH(c3, q + 4 * j + 12, RELU_FIRST);                                                         \
        }                                                                                                              \
    }

//@CONSTANTS@

__kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void mlp(
    __global const IN *restrict in, __global OUT *restrict out, __global const T *restrict weights, const int n) {
    const int first = (int)get_group_id(0) * LOCAL * VEC + (int)get_local_id(0);
    VT a[WIDTH], b[WIDTH];
    UNROLL for (int k = 0; k < VEC; ++k) {
        const int hit = min(first + k * LOCAL, n - 1);
        UNROLL for (int i = 0; i < N_IN; ++i) LANE(a[i], k) = (T)in[hit * N_IN + i];
    }
    //@LAYERS@
    UNROLL for (int k = 0; k < VEC; ++k) {
        const int hit = first + k * LOCAL;
        if (hit < n) {
            UNROLL for (int i = 0; i < N_OUT; ++i) out[hit * N_OUT + i] = (OUT)(LANE(RESULT[i], k) * UP(i));
        }
    }
}

__kernel void nothing(__global const IN *in) {}
