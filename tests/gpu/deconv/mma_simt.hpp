// The tensor-core kernels of `deconv` on a CPU, thread for thread, as `tests/gpu/simt.hpp` does for `bcnn`: with warpgroups
// of 128 threads (`wgmma`), and with clusters, whose blocks run together, each with a shared memory of its own. It shows
// wrong indices, layouts, and barriers that do not meet; it shows no races, because only one thread runs at a time and
// what is asynchronous on the chip is done at once.
#pragma once
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#define __global__
#define __device__
#define __restrict__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __expf expf
#define __saturatef(x) std::min(std::max((x), 0.f), 1.f)
#define __threadfence()
#define __fdividef(a, b) ((a) / (b))

struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
using std::max;
using std::min;
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int atomicOr(int *to, int bits) { const int old = *to; *to |= bits; return old; }

struct Index { unsigned x; };
Index threadIdx, blockIdx, gridDim;

struct Meeting {
    int arrived = 0;
    long generation = 0;
    void *given[128];
};
constexpr int STACK = 256 * 1024;
constexpr long MEMORY = 232 * 1024;
constexpr unsigned BASE = 16;  // address of the first byte of shared memory: no multiple of 1,024
struct Thread {
    ucontext_t context;
    std::unique_ptr<char[]> stack{new char[STACK]};
    bool done = false;
};
struct Barrier {
    int count = 0, left = 0, bytes = 0, passed = 0;
    void settle() {
        if (left || bytes) return;
        left = count;
        ++passed;
    }
};
struct Block {
    std::map<unsigned, Barrier> barriers;
    std::unique_ptr<char[]> memory{new char[MEMORY + 1024]};
    std::vector<Meeting> warps, warpgroups;
    Meeting barrier, some[16];
    char *first() { return memory.get() + (-(uintptr_t)memory.get() & 1023); }
};
std::vector<Thread> threads;  // of the whole cluster
std::vector<Block> blocks;
Meeting cluster;
ucontext_t scheduler;
long progress;
int block_threads, running;

inline Block &block() { return blocks[running / block_threads]; }
#define shared ((uint4 *)block().first())

inline void enter(int thread, int first_block) {
    running = thread;
    threadIdx.x = thread % block_threads;
    blockIdx.x = first_block + thread / block_threads;
}
inline void wait() {
    const int me = running, first_block = blockIdx.x - running / block_threads;
    swapcontext(&threads[me].context, &scheduler);
    enter(me, first_block);
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
template <class Given, class All> void together(Meeting &meeting, int count, Given &mine, All all) {
    meeting.given[threadIdx.x % count] = &mine;
    meet(meeting, count, [&] { all([&](int thread) -> Given & { return *(Given *)meeting.given[thread]; }); });
}
inline void __syncthreads() { meet(block().barrier, block_threads, [] {}); }
template <class Value> Value __shfl_sync(unsigned, Value value, int from) {
    struct Given { Value value, found; int from; } mine{value, value, from};
    Meeting &warp = block().warps[threadIdx.x / 32];
    warp.given[threadIdx.x % 32] = &mine;
    meet(warp, 32, [&] {
        for (void *given : std::vector<void *>(warp.given, warp.given + 32))
            ((Given *)given)->found = ((Given *)warp.given[((Given *)given)->from])->value;
    });
    return mine.found;
}
inline void __syncwarp() { meet(block().warps[threadIdx.x / 32], 32, [] {}); }
inline void some_sync(int number, int count) { meet(block().some[number], count, [] {}); }
inline void cluster_sync() { meet(cluster, block_threads * (int)blocks.size(), [] {}); }

inline unsigned address(const void *p) {
    const long at = (const char *)p - block().first();
    if (at < 0 || at >= MEMORY) std::abort();
    return (unsigned)at + BASE;
}
inline char *at_address(unsigned at, int bytes, Block &of) {
    if (at < BASE || at % bytes || at - BASE + bytes > MEMORY) std::abort();
    return of.first() + (at - BASE);
}
template <int BYTES> void copy(unsigned to, const void *from, bool valid) {
    if ((uintptr_t)from % BYTES) std::abort();
    char *const there = at_address(to, BYTES, block());
    valid ? (void)std::memcpy(there, from, BYTES) : (void)std::memset(there, 0, BYTES);
}
inline void barrier_init(unsigned at, unsigned count) {
    at_address(at, 8, block());
    block().barriers[at] = Barrier{(int)count, (int)count};
}
inline void show_barriers() {}
inline Barrier &barrier_of(unsigned at, Block &of) {
    if (!of.barriers.count(at)) std::abort();
    return of.barriers[at];
}
inline void come(Barrier &barrier) {
    if (--barrier.left < 0) std::abort();
    barrier.settle();
    ++progress;
}
inline void barrier_expect(unsigned at, unsigned bytes) {
    Barrier &barrier = barrier_of(at, block());
    barrier.bytes += bytes;
    come(barrier);
}
inline void barrier_come(unsigned at) { come(barrier_of(at, block())); }
inline void copies_come(unsigned at) { barrier_come(at); }
// The first wait is for the first passing: a parity that differs from that of the passings so far means passed.
inline void barrier_wait(unsigned at, unsigned parity) {
    while ((unsigned)(barrier_of(at, block()).passed & 1) == parity) wait();
}
inline void bulk_copy(unsigned to, const void *from, unsigned bytes, unsigned barrier) {
    if ((uintptr_t)from % 16 || to % 16 || bytes % 16) std::abort();
    at_address(to + bytes - 16, 16, block());
    std::memcpy(at_address(to, 16, block()), from, bytes);
    barrier_of(barrier, block()).bytes -= bytes;
    barrier_of(barrier, block()).settle();
    ++progress;
}
inline void copies_commit() {}
template <int LEFT> void copies_wait() {}
inline void show_to_wgmma() {}
inline void show_to_copies() {}
inline void wgmma_begin() {}
inline void wgmma_commit() {}
template <int LEFT> void wgmma_wait() {}
inline void wait_for_inputs() {}
inline void let_next_start() {}

inline float of_half(uint16_t h) {
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    const float size = exponent == 31 ? (fraction ? NAN : INFINITY)
                       : exponent     ? std::ldexp(1024.f + fraction, exponent - 25)
                                      : std::ldexp((float)fraction, -24);
    return h >> 15 ? -size : size;
}
inline uint16_t to_half(float x) {
    const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    const float size = std::fabs(x);
    if (std::isnan(x)) return 0x7FFF;
    if (size == 0) return sign;
    if (size >= 65520.f) return sign | 0x7C00;
    int exponent = 0;
    std::frexp(size, &exponent);
    exponent = std::max(exponent - 11, -24);  // of the last place
    const long units = std::lrint(std::ldexp(size, -exponent));
    return sign | (uint16_t)(exponent == -24 ? units : units + ((long)(exponent + 24) << 10));
}
inline unsigned half2(float low, float high) { return to_half(low) | (unsigned)to_half(high) << 16; }
inline const float *halves() {
    static std::vector<float> table;
    if (table.empty())
        for (int h = 0; h < 65536; ++h) table.push_back(of_half((uint16_t)h));
    return table.data();
}

// The numbers of 4 bytes, as the sums' type.
inline void numbers(float *to, unsigned word) {
    to[0] = halves()[word & 0xFFFF];
    to[1] = halves()[word >> 16];
}
inline void numbers(int *to, unsigned word) {
    for (int i = 0; i < 4; ++i) to[i] = (int8_t)(word >> 8 * i);
}
template <class Sum> constexpr int PER_WORD = sizeof(Sum) && std::is_same<Sum, int>::value ? 4 : 2;

template <class Sum> void mma(Sum (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
    struct Given { Sum *d; unsigned a[4], b[2]; } mine{d, {a0, a1, a2, a3}, {b0, b1}};
    together(block().warps[threadIdx.x / 32], 32, mine, [](auto of) {
        for (int row = 0; row < 16; ++row)
            for (int column = 0; column < 8; ++column) {
                Sum sum = 0;
                for (int half = 0; half < 2; ++half)
                    for (int t = 0; t < 4; ++t) {
                        Sum x[4] = {}, y[4] = {};
                        numbers(x, of(row % 8 * 4 + t).a[2 * half + row / 8]);
                        numbers(y, of(column * 4 + t).b[half]);
                        for (int i = 0; i < 4; ++i) sum += x[i] * y[i];
                    }
                of(row % 8 * 4 + column / 2).d[row / 8 * 2 + column % 2] += sum;
            }
    });
}

// A row of 32 bytes of an operand. Swizzled: rows of 128 bytes, 16-byte units exchanged by the address bits 7 to 9; else
// 8 rows of 16 bytes together, with the strides that the descriptor gives.
template <class Sum> void operand_row(Sum *to, uint64_t descriptor, int row) {
    const unsigned from = (unsigned)(descriptor & 0x3FFF) << 4, swizzle = descriptor >> 62;
    const unsigned leading = (unsigned)(descriptor >> 16 & 0x3FFF) << 4, stride = (unsigned)(descriptor >> 32 & 0x3FFF) << 4;
    if (swizzle > 1 || (swizzle && stride != 1024) || (descriptor >> 49 & 7)) std::abort();
    for (int word = 0; word < 8; ++word) {
        unsigned at = from + row / 8 * stride, value;
        if (swizzle) {
            at += row % 8 * 128 + word * 4;
            at ^= (at >> 7 & 7) << 4;
        } else {
            at += row % 8 * 16 + word / 4 * leading + word % 4 * 4;
        }
        std::memcpy(&value, at_address(at, 4, block()), 4);
        numbers(to + word * PER_WORD<Sum>, value);
    }
}
template <class Sum, int N> void wgmma(Sum (&d)[N], uint64_t a, uint64_t b, int add) {
    struct Given { Sum *d; uint64_t a, b; int add; } mine{d, a, b, add};
    together(block().warpgroups[threadIdx.x / 128], 128, mine, [](auto of) {
        constexpr int COLUMNS = 2 * N, DEEP = 8 * PER_WORD<Sum>;
        static Sum left[64][32], right[COLUMNS][32];
        for (int thread = 0; thread < 128; ++thread)
            if (of(thread).a != of(0).a || of(thread).b != of(0).b) std::abort();
        for (int row = 0; row < 64; ++row) operand_row(left[row], of(0).a, row);
        for (int column = 0; column < COLUMNS; ++column) operand_row(right[column], of(0).b, column);
        for (int row = 0; row < 64; ++row)
            for (int column = 0; column < COLUMNS; ++column) {
                Sum sum = 0;
                for (int k = 0; k < DEEP; ++k) sum += left[row][k] * right[column][k];
                Sum &to = of(row / 16 * 32 + row % 8 * 4 + column % 8 / 2).d[column / 8 * 4 + row % 16 / 8 * 2 + column % 2];
                to = of(0).add ? to + sum : sum;
            }
    });
}

inline void load_rows(unsigned (&to)[4], unsigned from) {
    struct Given { unsigned *to, from; } mine{to, from};
    together(block().warps[threadIdx.x / 32], 32, mine, [](auto of) {
        for (int lane = 0; lane < 32; ++lane)
            for (int m = 0; m < 4; ++m)
                std::memcpy(of(lane).to + m, at_address(of(8 * m + lane / 4).from, 16, block()) + lane % 4 * 4, 4);
    });
}
template <class Sum, int N> void wgmma(Sum (&d)[N], const unsigned (&a)[4], uint64_t b, int add) {
    struct Given { Sum *d; const unsigned *a; uint64_t b; int add; } mine{d, a, b, add};
    together(block().warpgroups[threadIdx.x / 128], 128, mine, [](auto of) {
        constexpr int COLUMNS = 2 * N, PER = PER_WORD<Sum>;
        static Sum left[64][32], right[COLUMNS][32];
        for (int thread = 0; thread < 128; ++thread) {
            if (of(thread).b != of(0).b) std::abort();
            for (int m = 0; m < 4; ++m)
                numbers(left[thread / 32 * 16 + m % 2 * 8 + thread % 32 / 4] + (m / 2 * 4 + thread % 4) * PER, of(thread).a[m]);
        }
        for (int column = 0; column < COLUMNS; ++column) operand_row(right[column], of(0).b, column);
        for (int row = 0; row < 64; ++row)
            for (int column = 0; column < COLUMNS; ++column) {
                Sum sum = 0;
                for (int k = 0; k < 8 * PER; ++k) sum += left[row][k] * right[column][k];
                Sum &to = of(row / 16 * 32 + row % 8 * 4 + column % 8 / 2).d[column / 8 * 4 + row % 16 / 8 * 2 + column % 2];
                to = of(0).add ? to + sum : sum;
            }
    });
}

struct Four;
template <class Found> Found cluster_read_as(unsigned at, unsigned rank) {
    Found found;
    std::memcpy(&found, at_address(at, 16, blocks[rank]), 16);
    return found;
}
#define cluster_read cluster_read_as<Four>

template <class Body> int launch(int groups, int local, int split, Body body) {
    static Body *entry;
    static int first_block;
    entry = &body;
    block_threads = local;
    gridDim.x = groups;
    if (groups % split) return 2;
    for (first_block = 0; first_block < groups; first_block += split) {
        blocks = std::vector<Block>(split);
        for (Block &one : blocks) {
            std::memset(one.memory.get(), 0xFF, MEMORY + 1024);
            one.warps = std::vector<Meeting>((local + 31) / 32);
            one.warpgroups = std::vector<Meeting>((local + 127) / 128);
        }
        cluster = Meeting();
        const int all = local * split;
        threads = std::vector<Thread>(all);
        for (int i = 0; i < all; ++i) {
            Thread &thread = threads[i];
            getcontext(&thread.context);
            thread.context.uc_stack.ss_sp = thread.stack.get();
            thread.context.uc_stack.ss_size = STACK;
            thread.context.uc_link = &scheduler;
            makecontext(&thread.context, (void (*)())+[] { (*entry)(); threads[running].done = true; ++progress; }, 0);
        }
        for (int left = all; left;) {
            const long before = progress;
            for (int i = left = 0; i < all; ++i) {
                if (threads[i].done) continue;
                enter(i, first_block);
                swapcontext(&scheduler, &threads[i].context);
                left += !threads[i].done;
            }
            if (left && progress == before) return 1;  // a barrier that not all reach
        }
    }
    return 0;
}
