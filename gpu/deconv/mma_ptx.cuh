// Shared by the tensor-core kernels of transposed convolutions: instructions in PTX (sm_90a) and the end of a layer.
//
// The host defines INT8 (1: int8 x int8 to int32, 0: binary16 to binary32), ACT (0 linear, 1 clip, 2 tanh, 3 sigmoid),
// SHIFT (int8: bits by which a sum is rounded).

typedef unsigned int uint;
typedef unsigned long long u64;
typedef long long i64;

#define UNROLLED _Pragma("unroll")

#if INT8
typedef int Acc;
constexpr int ES = 1;  // bytes of a number
#else
typedef float Acc;
constexpr int ES = 2;
#endif

struct alignas(16) Four {
    Acc v[4];
};

__device__ __forceinline__ uint address(const void *p) { return (uint)__cvta_generic_to_shared(p); }

// `BYTES` (4, 8 or 16) to shared memory without waiting; zeros where not `valid`.
template <int BYTES> __device__ __forceinline__ void copy(uint to, const void *from, bool valid) {
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(BYTES), "r"(valid ? BYTES : 0)
                     : "memory");
}

__device__ __forceinline__ void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int LEFT> __device__ __forceinline__ void copies_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

// Come to a barrier in shared memory when the copies that this thread began are done.
__device__ __forceinline__ void copies_come(uint barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

// What was written to shared memory, by this thread or before a barrier that it has passed, may be read by wgmma.
__device__ __forceinline__ void show_to_wgmma() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// What other blocks wrote to global memory, seen by this thread, may be copied in bulk.
__device__ __forceinline__ void show_to_copies() { asm volatile("fence.proxy.async;" ::: "memory"); }

// Four matrices of 8 rows of 16 bytes, lane 8 m + r with the address of row r of matrix m: word m of lane 4 g + t is word t
// of row g.
__device__ __forceinline__ void load_rows(uint (&to)[4], uint from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
}

__device__ __forceinline__ void wgmma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

template <int LEFT> __device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

// 16 x 8 sums: lane 4 g + t has A rows g and g + 8, B column g, and sums (g, 2t), (g, 2t+1), (g+8, 2t), (g+8, 2t+1).
__device__ __forceinline__ void mma(Acc (&d)[4], uint a0, uint a1, uint a2, uint a3, uint b0, uint b1) {
#if INT8
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#endif
}

// A barrier in shared memory that is passed when `count` threads have come and all bytes that they expect are there.
__device__ __forceinline__ void barrier_init(uint barrier, uint count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

__device__ __forceinline__ void show_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ __forceinline__ void barrier_expect(uint barrier, uint bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void barrier_come(uint barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Wait until the barrier has been passed for the first, third, ... (parity 0) or second, ... time (parity 1).
__device__ __forceinline__ void barrier_wait(uint barrier, uint parity) {
    asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again;}" ::"r"(
                     barrier),
                 "r"(parity)
                 : "memory");
}

// `bytes` (a multiple of 16) to shared memory, counted at a barrier.
__device__ __forceinline__ void bulk_copy(uint to, const void *from, uint bytes, uint barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

// Barrier `number` (not 0) of `count` threads of the block, whole warps.
__device__ __forceinline__ void some_sync(int number, int count) {
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(count) : "memory");
}

// All blocks of the cluster have come here, and see what each wrote to its shared memory.
__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Four sums at `at` in the shared memory of block `rank` of the cluster.
__device__ __forceinline__ Four cluster_read(uint at, uint rank) {
    uint there, v[4];
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at), "r"(rank));
    asm volatile("ld.shared::cluster.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(there)
                 : "memory");
    Four found;
    UNROLLED for (int k = 0; k < 4; ++k) found.v[k] = *(const Acc *)&v[k];
    return found;
}

// The launch before this one is complete, and its writes are visible. What they are read through must not be __restrict__:
// the compiler may read constant memory of that kind before this.
__device__ __forceinline__ void wait_for_inputs() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// The launch after this one may start its own preparation.
__device__ __forceinline__ void let_next_start() { asm volatile("griddepcontrol.launch_dependents;"); }

// Two numbers rounded to binary16, `low` in the lower half.
__device__ __forceinline__ uint half2(float low, float high) {
    uint both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

#if INT8
// A sum with its bias to the layer's number: rounded half up, saturated, or through the table of 1,024 entries.
__device__ __forceinline__ int activate(int sum, const signed char *lookup) {
    const int r = SHIFT > 0 ? (sum + (1 << (SHIFT > 0 ? SHIFT - 1 : 0))) >> SHIFT : sum;
    if (ACT == 0) return min(max(r, -128), 127);
    if (ACT == 1) return min(max(r, 0), 127);
    return lookup[min(max(r, -512), 511) + 512];
}
#else
__device__ __forceinline__ float activate(float sum, const signed char *) {
    if (ACT == 1) return __saturatef(sum);
    if (ACT == 2) return 1.f - __fdividef(2.f, 1.f + __expf(2.f * fminf(sum, 30.f)));
    if (ACT == 3) return __fdividef(1.f, 1.f + __expf(fminf(-sum, 60.f)));
    return sum;
}
#endif

// N finished numbers, neighbours in memory, to `to`, which is a multiple of N ES bytes (N ES up to 16 and a power of 2).
template <int N> __device__ __forceinline__ void store(unsigned char *to, const Acc (&x)[N]) {
    uint words[N * ES > 4 ? N * ES / 4 : 1] = {};
#if INT8
    UNROLLED for (int k = 0; k < N; ++k) words[k / 4] |= (x[k] & 0xFFu) << 8 * (k % 4);
#else
    if (N == 1) words[0] = half2(x[0], 0.f);
    UNROLLED for (int k = 0; k + 1 < N; k += 2) words[k / 2] = half2(x[k], x[k + 1]);
#endif
    if constexpr (N * ES == 16) *(uint4 *)to = make_uint4(words[0], words[1], words[2], words[3]);
    if constexpr (N * ES == 8) *(uint2 *)to = make_uint2(words[0], words[1]);
    if constexpr (N * ES == 4) *(uint *)to = words[0];
    if constexpr (N * ES == 2) *(unsigned short *)to = (unsigned short)words[0];
    if constexpr (N * ES == 1) *to = (unsigned char)words[0];
}

extern "C" __global__ void nothing(void *p) {
    wait_for_inputs();
    let_next_start();
}
