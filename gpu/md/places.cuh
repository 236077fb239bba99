// Bricks, places and the shared memory of a block.
//
// The box is cut into bricks, equal and not aligned to anything. A particle is kept by the brick that it was in when the
// lists were last made, in a slot, and its coordinates count from the middle of that brick in units of 2^-28 of the
// brick's edge: exact integers, so that a step loses nothing in a sum, and a shift to another brick, or around the box,
// is exact. A block takes the particles of a brick and all within reach of it (its locals) into shared memory, as float
// coordinates from the same middle; periodic images are locals of their own, so no pair needs a nearest image.

#define EDGE (1 << 28)
#define HALF (1 << 27)
// A local: slot of all slots, then three bits for each axis: bricks from here to its own brick, plus 4.
#define SLOT_BITS 23
#define SLOT_OF(word) ((word) & ((1u << SLOT_BITS) - 1))
#define WORD(slot, x, y, z) ((unsigned)(slot) | (unsigned)((x) + 4) << 23 | (unsigned)((y) + 4) << 26 | (unsigned)((z) + 4) << 29)
#define AWAY(word, shift) ((int)((word) >> (shift) & 7) - 4)
#define NO_WORD 0xFFFFFFFFu  // no brick is 3 away in each axis
#define BINS_X (OWN_BINS_X + 2 * REACH_BINS_X)
#define BINS_Y (OWN_BINS_Y + 2 * REACH_BINS_Y)
#define BINS_Z (OWN_BINS_Z + 2 * REACH_BINS_Z)
#define BINS (BINS_X * BINS_Y * BINS_Z)
#define WAY (WAY_X * WAY_Y * WAY_Z)
// Groups of MEMBERS particles that a block works on at a time, and how often it must for all its slots.
#define GROUPS (THREADS / LANES)
#define PASSES ((SLOTS + GROUPS * MEMBERS - 1) / (GROUPS * MEMBERS))
// Where nothing is: pairs with it are beyond the cutoff.
#define NOWHERE (1000.0f * REACH)
// Local of padding in a list.
#define PADDING LOCALS

// What went wrong, as bits.
#define CROWDED_BRICK 1
#define CROWDED_REACH 2
#define CROWDED_LIST 4
#define TOO_FAST 8
#define TOO_CLOSE 16

// Each block has one brick, and keeps what it knows of it.
#define SETTLED (GRID == BRICKS)

struct Shared {
    float4 *place;    // of each local, and one more that is nowhere
    int *end;         // of each bin of locals
    unsigned *vote;   // votes of this block, what the last barrier said, votes of a cluster
    int *counter;
    int *following;   // the brick after this one
    unsigned *words;  // of the locals, where the block keeps them
    int *sums;        // of each warp
    int *near;        // particles of the bricks around
};
DEVICE Shared carve(uint4 *memory) {
    Shared s;
    s.place = (float4 *)memory;
    s.end = (int *)(s.place + LOCALS + 1);
    s.vote = (unsigned *)(s.end + (BINS > WAY ? BINS : WAY));
    s.counter = (int *)(s.vote + 2 + 2 * 16);
    s.following = s.counter + 1;
    s.sums = s.counter + 2;
    s.near = s.sums + 32;
    s.words = (unsigned *)(s.near + (2 * 2 + 1) * (2 * 2 + 1) * (2 * 2 + 1));
    return s;
}

// __fmul_rn: never joined with a sum, so that a place is the same number wherever it is computed.
DEVICE float4 place(int4 at, int x, int y, int z) {
    return make_float4(__fmul_rn((float)(at.x + x * EDGE), UNIT_X), __fmul_rn((float)(at.y + y * EDGE), UNIT_Y),
                       __fmul_rn((float)(at.z + z * EDGE), UNIT_Z), (float)at.w);
}
DEVICE int wrapped(int brick, int count) {
    brick %= count;
    return brick < 0 ? brick + count : brick;
}
DEVICE int brick_at(int brick, int x, int y, int z) {
    const int at_x = wrapped(brick % BRICKS_X + x, BRICKS_X);
    const int at_y = wrapped(brick / BRICKS_X % BRICKS_Y + y, BRICKS_Y);
    const int at_z = wrapped(brick / (BRICKS_X * BRICKS_Y) + z, BRICKS_Z);
    return (at_z * BRICKS_Y + at_y) * BRICKS_X + at_x;
}
// Bin of a coordinate along an axis, from 0 for the first bin of the reach.
DEVICE int bin(int at, int own, int reach) {
    const int found = (int)(((long long)at + HALF) * own >> 28) + reach;
    return max(0, min(found, own + 2 * reach - 1));
}
DEVICE void complain(int *status, unsigned *vote, int what) {
    atomicOr(status, what);
    atomicOr(vote, BREAKS);
}

// The locals of a brick, as they are now, into shared memory.
DEVICE void load_locals(const Shared &s, const int4 *at, const unsigned *words, int count) {
#pragma unroll 4
    for (int k = threadIdx.x; k < count; k += THREADS) {
        const unsigned word = words[k];
        s.place[k] = place(__ldcg(at + SLOT_OF(word)), AWAY(word, 23), AWAY(word, 26), AWAY(word, 29));
    }
    if (threadIdx.x == 0) s.place[PADDING] = make_float4(-NOWHERE, -NOWHERE, -NOWHERE, 0.0f);
}
