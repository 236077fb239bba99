// CUDA kernels on a CPU, thread for thread: every thread of a block is a coroutine, and what a warp or a block does
// together (matrix instructions, shuffles, barriers) waits until all of it has come. It shows wrong indices, layouts and
// barriers that do not meet; it shows no races, because only one thread runs at a time.
#pragma once
#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
using std::max;
using std::min;

struct Index { unsigned x; };
Index threadIdx, blockIdx, gridDim;
alignas(128) uint4 shared[256 * 1024 / 16];

struct Meeting {
    int arrived = 0;
    long generation = 0;
    void *given[32];
};
constexpr int STACK = 256 * 1024;
struct Thread {
    ucontext_t context;
    std::unique_ptr<char[]> stack{new char[STACK]};
    bool done = false;
};
std::vector<Thread> threads;
std::vector<Meeting> warps;
Meeting barriers[16];
ucontext_t scheduler;
long progress;

inline void wait() {
    const unsigned me = threadIdx.x;
    swapcontext(&threads[me].context, &scheduler);
    threadIdx.x = me;
}

// The last one to come does `all` for everyone.
template <class All> void meet(Meeting &meeting, int count, All all) {
    const long generation = meeting.generation;
    ++progress;
    if (++meeting.arrived == count) {
        all();
        meeting.arrived = 0;
        ++meeting.generation;
    } else {
        while (meeting.generation == generation) wait();
    }
}

template <class Given, class All> void together(Given &mine, All all) {
    Meeting &warp = warps[threadIdx.x / 32];
    warp.given[threadIdx.x % 32] = &mine;
    meet(warp, 32, [&] { all([&](int lane) -> Given & { return *(Given *)warp.given[lane]; }); });
}

inline void bar_sync(int id, int count) { meet(barriers[id], count, [] {}); }
inline void __syncthreads();

inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline unsigned __funnelshift_r(unsigned low, unsigned high, int by) {
    return (unsigned)((((uint64_t)high << 32) | low) >> (by & 31));
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned select) {
    const uint64_t both = ((uint64_t)y << 32) | x;
    unsigned found = 0;
    for (int i = 0; i < 4; ++i) found |= (unsigned)(both >> 8 * (select >> 4 * i & 7) & 0xFF) << 8 * i;
    return found;
}
inline unsigned __shfl_xor_sync(unsigned, unsigned value, int lanes) {
    struct Given { unsigned value, found; int lanes; } mine{value, 0, lanes};
    together(mine, [](auto of) {
        for (int lane = 0; lane < 32; ++lane) of(lane).found = of(lane ^ of(lane).lanes).value;
    });
    return mine.found;
}

// D (16 x 8) += A (16 x k) B (k x 8): A rows g and g + 8, B column g, words t and, of the second half, t again.
template <class Product> void matrix(int *d, const unsigned *a, unsigned b0, unsigned b1, int halves, Product product) {
    struct Given { int *d; const unsigned *a; unsigned b[2]; } mine{d, a, {b0, b1}};
    together(mine, [&](auto of) {
        for (int row = 0; row < 16; ++row)
            for (int column = 0; column < 8; ++column) {
                int sum = 0;
                for (int half = 0; half < halves; ++half)
                    for (int t = 0; t < 4; ++t)
                        sum += product(of(row % 8 * 4 + t).a[2 * half + row / 8], of(column * 4 + t).b[half]);
                of(row % 8 * 4 + column / 2).d[row / 8 * 2 + column % 2] += sum;
            }
    });
}
inline void bmma256(int *d, const unsigned *a, unsigned b0, unsigned b1) {
    matrix(d, a, b0, b1, 2, [](unsigned x, unsigned y) { return __popc(x & y); });
}
inline void bmma128(int *d, const unsigned *a, unsigned b0) {
    matrix(d, a, b0, 0, 1, [](unsigned x, unsigned y) { return __popc(x & y); });
}
inline void imma32(int *d, const unsigned *a, unsigned b0, unsigned b1) {
    d[0] = d[1] = d[2] = d[3] = 0;
    matrix(d, a, b0, b1, 2, [](unsigned x, unsigned y) {
        int sum = 0;
        for (int i = 0; i < 32; i += 8) sum += (int8_t)(x >> i) * (int8_t)(y >> i);
        return sum;
    });
}

inline unsigned address(const void *p) {
    const long at = (const char *)p - (const char *)shared;
    if (at < 0 || at >= (long)sizeof shared) std::abort();
    return (unsigned)at;
}
inline void ldmatrix(unsigned *a, unsigned from, int matrices) {
    struct Given { unsigned *a; unsigned from; } mine{a, from};
    if (from % 16) std::abort();
    together(mine, [&](auto of) {
        for (int m = 0; m < matrices; ++m)
            for (int lane = 0; lane < 32; ++lane)
                std::memcpy(&of(lane).a[m], (char *)shared + of(8 * m + lane / 4).from + 4 * (lane % 4), 4);
    });
}
inline void ldmatrix4(unsigned *a, unsigned from) { ldmatrix(a, from, 4); }
inline void ldmatrix2(unsigned *a, unsigned from) { ldmatrix(a, from, 2); }
inline void copy16(void *to, const void *from, bool valid) {
    address(to);
    if ((uintptr_t)to % 16 || (uintptr_t)from % 16) std::abort();
    valid ? std::memcpy(to, from, 16) : std::memset(to, 0, 16);
}
inline void copies_done() {}
inline void wait_for_inputs() {}
inline void let_next_start() {}
#define group_barrier(group) bar_sync((group) + 1, GROUP_THREADS)

int block_threads;
inline void __syncthreads() { bar_sync(0, block_threads); }

template <class Body> int launch(int groups, int local, Body body) {
    static Body *entry;
    entry = &body;
    block_threads = local;
    gridDim.x = groups;
    for (int block = 0; block < groups; ++block) {
        blockIdx.x = block;
        std::memset(shared, 0xA5, sizeof shared);
        threads = std::vector<Thread>(local);
        warps = std::vector<Meeting>((local + 31) / 32);
        for (Meeting &barrier : barriers) barrier = Meeting();
        for (int i = 0; i < local; ++i) {
            Thread &thread = threads[i];
            getcontext(&thread.context);
            thread.context.uc_stack.ss_sp = thread.stack.get();
            thread.context.uc_stack.ss_size = STACK;
            thread.context.uc_link = &scheduler;
            makecontext(&thread.context, (void (*)())+[] { (*entry)(); threads[threadIdx.x].done = true; ++progress; }, 0);
        }
        for (int left = local; left;) {
            const long before = progress;
            for (int i = left = 0; i < local; ++i) {
                if (threads[i].done) continue;
                threadIdx.x = i;
                swapcontext(&scheduler, &threads[i].context);
                left += !threads[i].done;
            }
            if (left && progress == before) return 1;  // a barrier that not all reach
        }
    }
    return 0;
}
