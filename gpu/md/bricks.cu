// Time steps of velocity Verlet by one launch that stays on the device: a block takes its bricks in turn, and all blocks
// meet after each step. Positions are kept twice, the old ones and those of the next step.

#define BLOCK_STATE 64  // words of `state` before those of the barrier
// state: 0 which positions are current, 1 lists are valid, 2 turn of the barrier, 3 what went wrong, 4 lists made, 5 steps.

struct Force { float x, y, z; };

// Forces on the members of this thread's group, complete in every lane of the group. `next`: the first chunk of the list.
DEVICE void forces_of(const Shared &s, const float4 *mine, const Chunk *list, Entries next, int chunks,
                      Force *sum) {
    Partners all[MEMBERS];
#pragma unroll
    for (int m = 0; m < MEMBERS; ++m) all[m] = partners((int)mine[m].w), sum[m] = {0.0f, 0.0f, 0.0f};
    if (threadIdx.x % LANES == 0) {
#pragma unroll
        for (int a = 0; a < MEMBERS; ++a)
#pragma unroll
            for (int b = a + 1; b < MEMBERS; ++b) {
                const float x = mine[a].x - mine[b].x, y = mine[a].y - mine[b].y, z = mine[a].z - mine[b].z;
                const float f = pair(all[a], x * x + y * y + z * z, mine[b].w);
                sum[a].x += f * x, sum[a].y += f * y, sum[a].z += f * z;
                sum[b].x -= f * x, sum[b].y -= f * y, sum[b].z -= f * z;
            }
    }
    for (int c = 0; c < chunks; ++c) {
        const Entries now = next;
        next.load(list, c + 1);
#pragma unroll
        for (int e = 0; e < ENTRIES; ++e) {
            const float4 q = *(const float4 *)((const char *)s.place + now.at(e));
#pragma unroll
            for (int m = 0; m < MEMBERS; ++m) {
                const float x = mine[m].x - q.x, y = mine[m].y - q.y, z = mine[m].z - q.z;
                const float f = pair(all[m], x * x + y * y + z * z, q.w);
                sum[m].x += f * x, sum[m].y += f * y, sum[m].z += f * z;
            }
        }
    }
#pragma unroll
    for (int by = LANES / 2; by; by /= 2)
#pragma unroll
        for (int m = 0; m < MEMBERS; ++m) {
            sum[m].x += __shfl_xor_sync(~0u, sum[m].x, by);
            sum[m].y += __shfl_xor_sync(~0u, sum[m].y, by);
            sum[m].z += __shfl_xor_sync(~0u, sum[m].z, by);
        }
}

// Where the members of this thread's group begin in a brick, in each pass through its groups, and where they are now.
DEVICE int first_of_group(int pass) { return (pass * GROUPS + (int)threadIdx.x / LANES) * MEMBERS; }
DEVICE void load_own(int4 *at, const int4 *brick, int count, int pass) {
#pragma unroll
    for (int m = 0; m < MEMBERS; ++m)
        if (first_of_group(pass) + m < count) at[m] = __ldcg(brick + first_of_group(pass) + m);
}

// What a lane needs to move its member; where a lane has several, it is read when it is needed.
struct Motion {
    float4 velocity;
    int4 reference;
    DEVICE void load(const float4 *velocities, const int4 *references, int count, int pass) {
        const int member = threadIdx.x % LANES, i = first_of_group(pass) + member;
        if (LANES < MEMBERS || member >= MEMBERS || i >= count) return;
        velocity = velocities[i], reference = references[i];
    }
};

// A step's move of a particle; votes for new lists when it has gone far since they were made.
DEVICE int4 drift(int4 at, float4 v, int4 from, int *status, unsigned *vote) {
    const float x = v.x * UNIT_X, y = v.y * UNIT_Y, z = v.z * UNIT_Z;
    if (!(x * x + y * y + z * z < FAR * FAR)) complain(status, vote, TOO_FAST);  // also when it is not a number
    at.x += __float2int_rn(v.x), at.y += __float2int_rn(v.y), at.z += __float2int_rn(v.z);
    const float dx = (at.x - from.x) * UNIT_X, dy = (at.y - from.y) * UNIT_Y, dz = (at.z - from.z) * UNIT_Z;
    if (dx * dx + dy * dy + dz * dz > LEASH * LEASH) atomicOr(vote, WANTS);
    return at;
}
DEVICE void kick(float4 &v, float4 force, int kind, float part) {
    const float by = part * (kind ? KICK_1 : KICK_0);
    v.x += by * (1.0f / UNIT_X) * force.x, v.y += by * (1.0f / UNIT_Y) * force.y, v.z += by * (1.0f / UNIT_Z) * force.z;
}

#if CLUSTER
#define TOGETHER __cluster_dims__(GRID, 1, 1)
#else
#define TOGETHER
#endif
extern "C" __global__ void TOGETHER __launch_bounds__(THREADS, RESIDENT)
advance(int4 *at_0, int4 *at_1, float4 *velocity_0, float4 *velocity_1, float4 *force, int4 *reference, int *own,
        int *incoming, unsigned *words, int *locals, Chunk *lists, int *chunks, int *state, int steps) {
    extern __shared__ uint4 memory[];
    const Shared s = carve(memory);
    unsigned *barrier = (unsigned *)state + BLOCK_STATE, turn = (unsigned)state[2], seen = 0;
    int *status = state + 3, made = 0, done = 0;
    int4 *now = state[0] ? at_1 : at_0, *next = state[0] ? at_0 : at_1;
    bool renew = !state[1];
    const int lane = threadIdx.x % LANES;
    if (threadIdx.x == 0) *s.vote = 0;
#if CLUSTER
    cluster_barrier();  // the shared memory of all blocks is there
#endif
    int count = 0, found = 0;  // own particles and locals of the brick in work
    if (SETTLED && !renew) {
        count = own[blockIdx.x], found = locals[blockIdx.x];
        for (int k = threadIdx.x; k < found; k += THREADS) s.words[k] = words[(size_t)blockIdx.x * LOCALS + k];
    }
    everyone(barrier, turn, s.vote);  // all have read the state

    if (steps > 0) {  // the first half kick and move, with the forces that the last launch left
        for (int brick = blockIdx.x; brick < BRICKS; brick += GRID)
            for (int i = threadIdx.x; i < own[brick]; i += THREADS) {
                const int slot = brick * SLOTS + i;
                const int4 at = __ldcg(now + slot);
                float4 v = velocity_0[slot];
                kick(v, force[slot], at.w, 0.5f);
                velocity_0[slot] = v;
                next[slot] = drift(at, v, reference[slot], status, s.vote);
            }
        seen = everyone(barrier, turn, s.vote);
        renew |= WANTED(seen);
        int4 *swap = now;
        now = next, next = swap;
        ++done;
    }
    while (seen < BROKEN) {
        if (renew) {
            const Particles current{now, velocity_0}, other{next, velocity_1};
            move(current, other, own, incoming, status, s.vote);
            if ((seen = everyone(barrier, turn, s.vote)) >= BROKEN) break;
            for (int brick = blockIdx.x; brick < BRICKS; brick += GRID)
                sort(s, other, current, reference, own, incoming, brick);
            everyone(barrier, turn, s.vote);
        }
        unsigned *queue = barrier + (WORDS + turn % WORDS) * WORD_STRIDE;
        for (int brick = blockIdx.x, following; brick < BRICKS; brick = following) {
            if (!SETTLED && threadIdx.x == 0) following = GRID + (int)atomicAdd(queue, 1u);
            Chunk *list = lists + (size_t)brick * PASSES * LIST_STRIDE;
            unsigned *word = words + (size_t)brick * LOCALS;
            int *lengths = chunks + brick * PASSES * THREADS + threadIdx.x;
            if (!SETTLED || renew) count = own[brick];
            // All that is needed from memory at first is asked for at once.
            int4 at[MEMBERS];
            load_own(at, now + brick * SLOTS, count, 0);
            Motion motion;
            motion.load(velocity_0 + brick * SLOTS, reference + brick * SLOTS, count, 0);
            Entries entries;
            int length = 0;
            if (renew) {
                found = find_locals(s, now, own, word, status, brick);
                if (threadIdx.x == 0) locals[brick] = found;
            } else {
                if (!SETTLED) found = locals[brick];
                length = lengths[0];
                entries.load(list, 0);
            }
            load_locals(s, now, SETTLED ? s.words : word, found);
            __syncthreads();
            if (!SETTLED && threadIdx.x == 0) *s.following = following;
            for (int pass = 0; pass * GROUPS * MEMBERS < count; ++pass, list += LIST_STRIDE) {
                const int begin = first_of_group(pass), members = max(0, min(count - begin, MEMBERS));
                if (pass) {
                    load_own(at, now + brick * SLOTS, count, pass);
                    motion.load(velocity_0 + brick * SLOTS, reference + brick * SLOTS, count, pass);
                }
                float4 mine[MEMBERS];
#pragma unroll
                for (int m = 0; m < MEMBERS; ++m)
                    mine[m] = m < members ? place(at[m], 0, 0, 0) : make_float4((m + 1) * NOWHERE, 0.0f, 0.0f, 0.0f);
                if (renew) {
                    length = lengths[pass * THREADS] = make_list(s, mine, members, list, status);
                    __syncwarp();
                } else if (pass) {
                    length = lengths[pass * THREADS];
                }
                if (pass || renew) entries.load(list, 0);
                Force sum[MEMBERS];
                forces_of(s, mine, list, entries, length, sum);
#pragma unroll
                for (int m = 0; m < MEMBERS; ++m)
                    if (m < members && m % LANES == lane) {
                        const int slot = brick * SLOTS + begin + m;
                        const float4 f = make_float4(sum[m].x, sum[m].y, sum[m].z, 0.0f);
                        if (LANES < MEMBERS) motion = {velocity_0[slot], reference[slot]};
                        float4 v = motion.velocity;
                        if (done == steps) {
                            force[slot] = f;
                            if (steps) kick(v, f, at[m].w, 0.5f);
                        } else {
                            kick(v, f, at[m].w, 1.0f);
                            next[slot] = drift(at[m], v, motion.reference, status, s.vote);
                        }
                        velocity_0[slot] = v;
                    }
            }
            __syncthreads();
            following = SETTLED ? BRICKS : *s.following;
        }
        made += renew;
        if (done == steps) break;
        seen = everyone(barrier, turn, s.vote);
        renew = WANTED(seen);
        int4 *swap = now;
        now = next, next = swap;
        ++done;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        state[0] = now == at_1;
        state[1] = seen < BROKEN;
        state[2] = (int)turn;
        state[4] += made;
        state[5] += done;
    }
}

extern "C" __global__ void nothing(void *p) {}
