// How a list lies in memory: entries are byte offsets into Shared::place, of 16 bits.
//
// A thread alone with its list takes chunks of 8 entries with one load, and packs them when it makes the list. Lanes of a
// group get its entries in turn, each entry a row of its own over the threads of the block: a group writes what it has
// found side by side, and a step's reads of Shared::place go to neighbours, which lie in different banks.

#if LANES == 1
typedef uint4 Chunk;
#define ENTRIES 8
#else
struct Chunk { unsigned short entry[THREADS]; };
#define ENTRIES 4
#endif
// Entries of a whole group.
#define LIST_ROOM (LIST_CHUNKS * ENTRIES * LANES)
// Chunks of a pass through all groups of a block; the one more is read ahead.
#if LANES == 1
#define LIST_STRIDE ((LIST_CHUNKS + 1) * THREADS)
#else
#define LIST_STRIDE ((LIST_CHUNKS + 1) * ENTRIES)
#endif

struct Writer {
    Chunk *list;
#if LANES == 1
    uint4 held;
    DEVICE Writer(Chunk *to) : list(to) {}
    DEVICE void shift(unsigned entry) {
        held.x = held.x >> 16 | held.y << 16, held.y = held.y >> 16 | held.z << 16;
        held.z = held.z >> 16 | held.w << 16, held.w = held.w >> 16 | entry << 16;
    }
    DEVICE void put(int number, int local) {
        shift((unsigned)local * 16);
        if (number % ENTRIES == ENTRIES - 1) list[number / ENTRIES * THREADS + threadIdx.x] = held;
    }
    // Fills up the last chunk of `count` entries; returns chunks.
    DEVICE int pad(int count) {
        for (; count % ENTRIES; ++count) put(count, PADDING);
        return count / ENTRIES;
    }
#else
    DEVICE Writer(Chunk *to) : list(to) {}
    DEVICE void put(int number, int local) {
        const int first = threadIdx.x / LANES * LANES;
        list[number / LANES].entry[first + number % LANES] = (unsigned short)(local * 16);
    }
    DEVICE int pad(int count) {
        const int lane = threadIdx.x % LANES, chunks = (count + LANES * ENTRIES - 1) / (LANES * ENTRIES);
        for (int row = count / LANES + (lane < count % LANES); row < chunks * ENTRIES; ++row)
            list[row].entry[threadIdx.x] = (unsigned short)(PADDING * 16);
        return chunks;
    }
#endif
};

struct Entries {
#if LANES == 1
    uint4 held;
    DEVICE unsigned at(int e) const {
        const unsigned word = e < 2 ? held.x : e < 4 ? held.y : e < 6 ? held.z : held.w;
        return e % 2 ? word >> 16 : word & 0xFFFFu;
    }
    DEVICE void load(const Chunk *list, int chunk) { held = list[chunk * THREADS + threadIdx.x]; }
#else
    unsigned held[ENTRIES];
    DEVICE unsigned at(int e) const { return held[e]; }
    DEVICE void load(const Chunk *list, int chunk) {
#pragma unroll
        for (int e = 0; e < ENTRIES; ++e) held[e] = list[chunk * ENTRIES + e].entry[threadIdx.x];
    }
#endif
};
