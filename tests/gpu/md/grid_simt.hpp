// A whole grid of CUDA blocks on a CPU, thread for thread: every thread of every block is a coroutine, so that blocks can
// wait for each other. What a warp, a group of its lanes, or a block does together waits until all of it has come. It shows
// wrong indices and barriers that do not meet; it shows no races, because only one thread runs at a time.
#pragma once
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __restrict__

struct int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(16) float4 { float x, y, z, w; };
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
using std::max;
using std::min;

struct Index { unsigned x; };
Index threadIdx, blockIdx, gridDim, blockDim;

struct Meeting {
    int arrived = 0;
    long generation = 0;
    void *given[32];
};
constexpr int STACK = 64 * 1024;
struct Thread {
    ucontext_t context;
    std::unique_ptr<char[]> stack{new char[STACK]};
    bool done = false;
};
struct Block {
    std::vector<Thread> threads;
    std::map<std::pair<int, unsigned>, Meeting> groups;  // of a warp, by lanes
    Meeting barrier;
    std::vector<uint4> memory;
};
std::vector<Block> blocks;
Meeting whole;
ucontext_t scheduler;
long progress;

inline void wait() {
    const unsigned thread = threadIdx.x, block = blockIdx.x;
    swapcontext(&blocks[block].threads[thread].context, &scheduler);
    threadIdx.x = thread, blockIdx.x = block;
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
template <class Given, class All> void together(unsigned lanes, Given &mine, All all) {
    if (!(lanes >> threadIdx.x % 32 & 1)) std::abort();
    Meeting &group = blocks[blockIdx.x].groups[{threadIdx.x / 32, lanes}];
    group.given[threadIdx.x % 32] = &mine;
    meet(group, __builtin_popcount(lanes), [&] { all([&](int lane) -> Given & { return *(Given *)group.given[lane]; }); });
}
inline void __syncthreads() { meet(blocks[blockIdx.x].barrier, blockDim.x, [] {}); }
inline void __syncwarp(unsigned lanes = ~0u) {
    int none = 0;
    together(lanes, none, [](auto) {});
}
inline void __threadfence() {}

template <class T, class From> T shuffle(unsigned lanes, T value, From from) {
    struct Given { T value, found; } mine{value, value};
    together(lanes, mine, [&](auto of) {
        for (int lane = 0; lane < 32; ++lane) {
            const int other = from(lane);
            if (lanes >> lane & 1 && other >= 0 && other < 32) of(lane).found = of(other).value;
        }
    });
    return mine.found;
}
template <class T> T __shfl_xor_sync(unsigned lanes, T value, int by) {
    return shuffle(lanes, value, [=](int lane) { return lane ^ by; });
}
template <class T> T __shfl_up_sync(unsigned lanes, T value, int by) {
    return shuffle(lanes, value, [=](int lane) { return lane - by; });
}
template <class T> T __shfl_sync(unsigned lanes, T value, int lane) {
    return shuffle(lanes, value, [=](int) { return lane; });
}
inline unsigned __ballot_sync(unsigned lanes, bool yes) {
    struct Given { bool yes; unsigned found; } mine{yes, 0};
    together(lanes, mine, [&](auto of) {
        unsigned found = 0;
        for (int lane = 0; lane < 32; ++lane)
            if (lanes >> lane & 1) found |= (unsigned)of(lane).yes << lane;
        for (int lane = 0; lane < 32; ++lane)
            if (lanes >> lane & 1) of(lane).found = found;
    });
    return mine.found;
}
inline int __reduce_max_sync(unsigned lanes, int value) {
    struct Given { int value, found; } mine{value, 0};
    together(lanes, mine, [&](auto of) {
        int most = INT32_MIN;
        for (int lane = 0; lane < 32; ++lane)
            if (lanes >> lane & 1) most = std::max(most, of(lane).value);
        for (int lane = 0; lane < 32; ++lane)
            if (lanes >> lane & 1) of(lane).found = most;
    });
    return mine.found;
}
inline int __popc(unsigned v) { return __builtin_popcount(v); }

template <class T> T atomicAdd(T *at, T by) { T old = *at; *at += by; return old; }
template <class T> T atomicOr(T *at, T by) { T old = *at; *at |= by; return old; }
template <class T> T atomicMax(T *at, T by) { T old = *at; *at = max(old, by); return old; }
template <class T> T __ldcg(const T *at) { return *at; }
template <class T> T __ldcs(const T *at) { return *at; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __saturatef(float x) { return x > 0 ? std::min(x, 1.0f) : 0.0f; }
inline int __float2int_rn(float x) { return std::isfinite(x) ? (int)std::max(-2147483648.0, std::min(2147483520.0, (double)std::nearbyint(x))) : 0; }
inline unsigned __float_as_uint(float x) { unsigned u; std::memcpy(&u, &x, 4); return u; }
inline float __uint_as_float(unsigned u) { float x; std::memcpy(&x, &u, 4); return x; }
using std::isfinite;

// In place of the functions of PTX.
inline float reciprocal(float x) { return 1.0f / x; }
inline float reciprocal_root(float x) { return 1.0f / std::sqrt(x); }
inline float power_of_two(float x) { return std::exp2(x); }
inline void arrive(unsigned *word, unsigned add) { ++progress; *word += add; }
inline unsigned look(const unsigned *word) { wait(); return *word; }

inline void cluster_barrier() { meet(whole, gridDim.x * blockDim.x, [] {}); }
inline void tell(unsigned *at, unsigned to, unsigned value) {
    const long offset = (char *)at - (char *)blocks[blockIdx.x].memory.data();
    std::memcpy((char *)blocks[to].memory.data() + offset, &value, 4);
}

inline uint4 *block_memory() { return blocks[blockIdx.x].memory.data(); }

template <class Body> int launch(int groups, int local, int shared, Body body) {
    static Body *entry;
    entry = &body;
    blockDim.x = local, gridDim.x = groups;
    blocks = std::vector<Block>(groups);
    whole = Meeting();
    for (Block &block : blocks) {
        block.memory.resize(shared / 16 + 1);
        std::memset(block.memory.data(), 0xA5, block.memory.size() * 16);
        block.threads = std::vector<Thread>(local);
        for (Thread &thread : block.threads) {
            getcontext(&thread.context);
            thread.context.uc_stack.ss_sp = thread.stack.get();
            thread.context.uc_stack.ss_size = STACK;
            thread.context.uc_link = &scheduler;
            makecontext(&thread.context, (void (*)())+[] {
                (*entry)();
                blocks[blockIdx.x].threads[threadIdx.x].done = true;
                ++progress;
            }, 0);
        }
    }
    for (long left = 1, before; left;) {
        before = progress, left = 0;
        for (int b = 0; b < groups; ++b)
            for (int i = 0; i < local; ++i) {
                if (blocks[b].threads[i].done) continue;
                threadIdx.x = i, blockIdx.x = b;
                swapcontext(&scheduler, &blocks[b].threads[i].context);
                left += !blocks[b].threads[i].done;
            }
        if (left && progress == before) return 1;  // a barrier that not all reach
    }
    return 0;
}
