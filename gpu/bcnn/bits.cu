// Shared by the kernels of the binary network: instructions in PTX (sm_90) and the packing of comparison bits.
//
// A sum of +-1 products over the valid taps of a window is V - 2 pw - 2 pa + 4 and, where V counts the products, pw and
// pa the ones of the weights and of the activations there, and `and` comes from the tensor cores. Padding is stored as
// zeros, so pa and `and` need no care; V - 2 pw differs where taps are lost at a border, hence the table of classes.
// sum >= threshold is then 2 and - pa >= H, with H from the table.
//
// Two channels share a register: each half holds 2 and - pa - H + 0x8000, which the host proves to stay inside 16 bits,
// so its top bit is the result.

typedef unsigned int uint;

#define UNROLLED _Pragma("unroll")

// 16 x 8 sums of 256 products: lane 4 g + t has A rows g and g + 8, B column g, and sums (g, 2t), (g, 2t+1), (g+8, ...).
__device__ __forceinline__ void bmma256(int *d, const uint *a, uint b0, uint b1) {
    asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void bmma128(int *d, const uint *a, uint b0) {
    asm("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(b0));
}

__device__ __forceinline__ void imma32(int *d, const uint *a, uint b0, uint b1) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(0));
}

__device__ __forceinline__ uint address(const void *p) { return (uint)__cvta_generic_to_shared(p); }

// Lanes 8 k to 8 k + 7 give the rows (16 bytes each) of matrix k; register k then holds word t of row g.
__device__ __forceinline__ void ldmatrix4(uint *a, uint from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(from));
}

__device__ __forceinline__ void ldmatrix2(uint *a, uint from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(a[0]), "=r"(a[1]) : "r"(from));
}

// 16 bytes to shared memory without waiting; zeros where not `valid`.
__device__ __forceinline__ void copy16(void *to, const void *from, bool valid) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(address(to)), "l"(from), "r"(valid ? 16 : 0)
                 : "memory");
}

__device__ __forceinline__ void copies_done() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// The launch before this one is complete, and its writes are visible. What they are read through must not be __restrict__:
// the compiler may read constant memory of that kind before this.
__device__ __forceinline__ void wait_for_inputs() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// The launch after this one may start its own preparation.
__device__ __forceinline__ void let_next_start() { asm volatile("griddepcontrol.launch_dependents;"); }

// The top bits of the 2 N halves that a lane holds for one row, N = 4, 8 or 16 tiles of 8 channels: the top N / 2 bits of
// each byte. Column 2 t + e of tile j is at byte 2 (j & 1) + e, bit 7 - (j >> 1).
template <int N> __device__ __forceinline__ uint top_bits(const uint (&y)[N]) {
    uint w = 0;
    UNROLLED for (int i = 0; i < N / 2; ++i) w |= (__byte_perm(y[2 * i], y[2 * i + 1], 0x7531) & 0x80808080u) >> i;
    return w;
}

// The same as 32-bit words of channels, the bits of lane t N / 2 places below those of lane t - 1: all four lanes of a row
// have word 0 (N = 4), lanes 2 k and 2 k + 1 word k (N = 8), lane t word t (N = 16). The host orders the columns so that
// bit b of a word is channel b.
template <int N> __device__ __forceinline__ uint pack(const uint (&y)[N], int t) {
    uint w = top_bits<N>(y);
    if (N == 8) {
        w >>= 4 * (t & 1);
        w |= __shfl_xor_sync(~0u, w, 1);
    }
    if (N == 4) {
        w >>= 2 * t;
        w |= __shfl_xor_sync(~0u, w, 1);
        w |= __shfl_xor_sync(~0u, w, 2);
    }
    return w;
}

template <int N> __device__ __forceinline__ int word_of(int t) { return N == 16 ? t : N == 8 ? t >> 1 : 0; }
template <int N> __device__ __forceinline__ bool stores(int t) { return N == 16 || (N == 8 ? !(t & 1) : t == 0); }

// How many taps a position loses at its two ends, as one number below (PAD + 1)^2.
__device__ __forceinline__ int border(int at) {
    return max(0, PAD - at) * (PAD + 1) + max(0, at + KERNEL - PAD - SIDE);
}

extern "C" __global__ void nothing(void *p) {
    wait_for_inputs();
    let_next_start();
}
