// A binary convolution or dense layer in portable OpenCL C: xor and popcount, with pooling, threshold and packing.
//
// sum = products - 2 popcount(a xor w) over the taps inside the image; a tap outside is masked and not counted. A
// work-item takes TM sums (whole windows of four where pooling follows) x TN channels; a work-group CHANNELS channels,
// whose weights for STAGED_TAPS x STAGED_WORDS words are in local memory. Activations come through the cache: the
// work-items of a group of channels read the same.
//
// CARRY adds bits before it counts them: two words and the ones left over so far give a carry, whose ones count twice
// (a full adder, two logic instructions), so that one popcount serves two words: popcount has a quarter of their rate.
// PTX says so outright: left to itself, NVIDIA's compiler takes nearly twice as many logic instructions.
//
// The host defines SIDE, KERNEL, PAD, POOL, WORDS (a pixel), PRODUCTS (a tap), SIDE_SUMS, OUT, OUT_WORDS, LAST, TM, TN,
// CHANNELS, GROUPS (of items along the channels), LOCAL, STAGED_TAPS, STAGED_WORDS, VECTOR (words a load), WIDE, CARRY, PTX.

#define SIDE_OUT (POOL ? SIDE_SUMS / 2 : SIDE_SUMS)
#define PARTS (POOL ? 4 : 1)
#define TAPS (KERNEL * KERNEL)
#define ITEM_UNITS (TM / PARTS)
#define ROWS (LOCAL / GROUPS)
#define UNITS (ROWS * ITEM_UNITS)
#define BLOCKS ((OUT + CHANNELS - 1) / CHANNELS)
#if WIDE
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED
#endif

// VECTOR words; PoCL 3.0 miscompiles vectors of integers, so only GPUs load WIDE.
#if WIDE && VECTOR == 4
#define LOAD(to, from, space)                                                                                          \
    {                                                                                                                  \
        const uint4 v_ = *(space const uint4 *)(from);                                                                  \
        to[0] = v_.x, to[1] = v_.y, to[2] = v_.z, to[3] = v_.w;                                                            \
    }
#elif WIDE && VECTOR == 2
#define LOAD(to, from, space)                                                                                          \
    {                                                                                                                  \
        const uint2 v_ = *(space const uint2 *)(from);                                                                  \
        to[0] = v_.x, to[1] = v_.y;                                                                                      \
    }
#else
#define LOAD(to, from, space) UNROLLED for (int i_ = 0; i_ < VECTOR; ++i_) to[i_] = (from)[i_];
#endif

#if PTX
#define LOGIC(name, code)                                                                                              \
    static inline uint name(uint a, uint b, uint c) {                                                                  \
        uint d;                                                                                                        \
        asm("lop3.b32 %0, %1, %2, %3, " code ";" : "=r"(d) : "r"(a), "r"(b), "r"(c));                                  \
        return d;                                                                                                      \
    }
LOGIC(differ, "0x28")
LOGIC(carry, "0xE8")
LOGIC(odd, "0x96")
#else
static inline uint differ(uint a, uint b, uint mask) { return (a ^ b) & mask; }
static inline uint carry(uint a, uint b, uint c) { return (a & b) | (c & (a ^ b)); }
static inline uint odd(uint a, uint b, uint c) { return a ^ b ^ c; }
#endif

#if LAST
typedef int result;
#else
typedef uint result;
#endif

__kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void layer(__global const uint *restrict in,
                                                                      __global result *restrict out,
                                                                      __global const uint *restrict weights,
                                                                      __global const int *restrict thresholds, int n) {
    __local uint shared[STAGED_TAPS * STAGED_WORDS * CHANNELS] __attribute__((aligned(16)));
    const int local_id = get_local_id(0), channel = local_id % GROUPS, row = local_id / GROUPS;
    const int block = get_group_id(0) % BLOCKS;
    const long first = (long)(get_group_id(0) / BLOCKS) * UNITS, units = (long)n * SIDE_OUT * SIDE_OUT;
    __global const uint *own = weights + (long)block * (TAPS * WORDS * CHANNELS);

    __global const uint *image[TM];
    int y[TM], x[TM], inside[TM];
    UNROLLED for (int m = 0; m < TM; ++m) {
        const long unit = min(first + m / PARTS * ROWS + row, units - 1);
        const int at = (int)(unit % (SIDE_OUT * SIDE_OUT)), part = m % PARTS;
        image[m] = in + unit / (SIDE_OUT * SIDE_OUT) * (SIDE * SIDE * WORDS);
        y[m] = (POOL ? at / SIDE_OUT * 2 + part / 2 : at / SIDE_OUT) - PAD;
        x[m] = (POOL ? at % SIDE_OUT * 2 + part % 2 : at % SIDE_OUT) - PAD;
        inside[m] = 0;
    }
    int count[TM][TN];
    uint left[TM][TN];
    UNROLLED for (int m = 0; m < TM; ++m) UNROLLED for (int c = 0; c < TN; ++c) count[m][c] = left[m][c] = 0;

    for (int tap0 = 0; tap0 < TAPS; tap0 += STAGED_TAPS)
        for (int word0 = 0; word0 < WORDS; word0 += STAGED_WORDS) {
            barrier(CLK_LOCAL_MEM_FENCE);
            __global const uint *from = own + (tap0 * WORDS + word0) * CHANNELS;
#if WIDE
            for (int e = local_id; e < STAGED_TAPS * STAGED_WORDS * CHANNELS / 4; e += LOCAL)
                ((__local uint4 *)shared)[e] = ((__global const uint4 *)from)[e];
#else
            for (int e = local_id; e < STAGED_TAPS * STAGED_WORDS * CHANNELS; e += LOCAL) shared[e] = from[e];
#endif
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int t = 0; t < STAGED_TAPS; ++t) {
                const int ky = (tap0 + t) / KERNEL, kx = (tap0 + t) % KERNEL;
                __global const uint *pixel[TM];
                uint mask[TM];
                UNROLLED for (int m = 0; m < TM; ++m) {
                    const int iy = y[m] + ky, ix = x[m] + kx;
                    const int valid = !PAD || (iy >= 0 && iy < SIDE && ix >= 0 && ix < SIDE);
                    mask[m] = valid ? ~0u : 0u;
                    pixel[m] = image[m] + (valid ? (iy * SIDE + ix) * WORDS : 0) + word0;
                    inside[m] += valid && word0 == 0;
                }
                for (int v = 0; v < STAGED_WORDS; v += VECTOR) {
                    __local const uint *at = shared + (t * STAGED_WORDS + v) * CHANNELS + channel * VECTOR;
                    uint w[TN][VECTOR];
                    UNROLLED for (int c = 0; c < TN; ++c) LOAD(w[c], at + c * (GROUPS * VECTOR), __local);
                    UNROLLED for (int m = 0; m < TM; ++m) {
                        uint a[VECTOR];
                        LOAD(a, pixel[m] + v, __global);
                        UNROLLED for (int c = 0; c < TN; ++c) {
#if CARRY
                            UNROLLED for (int i = 0; i < VECTOR; i += 2) {
                                const uint p = differ(a[i], w[c][i], mask[m]);
                                const uint q = differ(a[i + 1], w[c][i + 1], mask[m]);
                                count[m][c] += popcount(carry(p, q, left[m][c]));
                                left[m][c] = odd(p, q, left[m][c]);
                            }
#else
                            UNROLLED for (int i = 0; i < VECTOR; ++i)
                                count[m][c] += popcount(differ(a[i], w[c][i], mask[m]));
#endif
                        }
                    }
                }
            }
        }

    UNROLLED for (int m = 0; m < TM; ++m) UNROLLED for (int c = 0; c < TN; ++c) {
#if CARRY
        count[m][c] = 2 * count[m][c] + popcount(left[m][c]);
#endif
        count[m][c] = inside[m] * PRODUCTS - 2 * count[m][c];
    }
    UNROLLED for (int u = 0; u < ITEM_UNITS; ++u) UNROLLED for (int c = 0; c < TN; ++c)
        UNROLLED for (int p = 1; p < PARTS; ++p)
            count[u * PARTS][c] = max(count[u * PARTS][c], count[u * PARTS + p][c]);
#if LAST
    UNROLLED for (int u = 0; u < ITEM_UNITS; ++u) UNROLLED for (int c = 0; c < TN; ++c) {
        const long unit = first + u * ROWS + row;
        const int at = block * CHANNELS + c * GROUPS + channel;
        if (unit < units && at < OUT) out[unit * OUT + at] = count[u * PARTS][c];
    }
#else
    // One byte a bit, then one work-item a word.
    __local uchar bits[UNITS * CHANNELS] __attribute__((aligned(16)));
    UNROLLED for (int c = 0; c < TN; ++c) {
        const int at = c * GROUPS + channel, limit = thresholds[block * CHANNELS + at];
        UNROLLED for (int u = 0; u < ITEM_UNITS; ++u)
            bits[(u * ROWS + row) * CHANNELS + at] = count[u * PARTS][c] >= limit;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int e = local_id; e < UNITS * CHANNELS / 32; e += LOCAL) {
        const int unit = e / (CHANNELS / 32), word = e % (CHANNELS / 32), at = block * (CHANNELS / 32) + word;
        __local const uint *four = (__local const uint *)bits + 8 * e;
        uint packed = 0;
        UNROLLED for (int i = 0; i < 8; ++i) packed |= (four[i] * 0x10204080u >> 28) << (4 * i);
        if (first + unit < units && at < OUT_WORDS) out[(first + unit) * OUT_WORDS + at] = packed;
    }
#endif
}

__kernel void nothing(__global char *p) {}
