// A transposed convolution with few output channels: every input times the whole kernel, then sums over what overlaps.
//
// A block finishes the outputs of TZ x TY x TX positions q: it multiplies the inputs that reach them, HZ x HY x HX of
// them, with all elements of the kernel (the columns of one matrix product, element after element, OUT of each), leaves
// the products in shared memory and adds up those that meet. So each input is read once or little more, and no product
// has a zero that is not data.
//
// Fragments of A come straight from global memory: lane t of a row takes 16 bytes, of which the words 0 and 1 go into the
// first instruction and 2 and 3 into the second: any order of the products serves, if the weights have the same.
//
// The host defines CIN, IZ IY IX, OZ OY OX, OUT, KZ KY KX, SZ SY SX, PZ PY PX (kernel, stride, padding), TZ TY TX, LZ LY LX
// (the largest reach), HZ HY HX, BZ BY BX (blocks of an item), NT (tiles of 8 columns), MT (tiles of 16 rows that a warp
// does together), WARPS.

constexpr int THREADS = 32 * WARPS, ROWS = HZ * HY * HX, TILES = (ROWS + 15) / 16;
constexpr int UNITS = CIN * ES / 16, DEEP = (UNITS + 3) / 4;  // 16-byte units of an input; instruction pairs
// Products lie column after column. With this many rows a warp's stores, lanes at row g and columns 2 t, meet no bank twice.
constexpr int PITCH = (ROWS + 11) / 16 * 16 + 4;
constexpr int RUN = SX * OUT;                                 // neighbours in memory that a thread finishes
constexpr int STORED = OX % SX ? 1 : RUN % 4 == 0 ? 4 : RUN % 2 == 0 ? 2 : 1;

extern "C" __global__ void __launch_bounds__(THREADS)
    scatter(const uint4 *in, unsigned char *out, const uint4 *__restrict__ weights, const Acc *__restrict__ bias,
            const signed char *__restrict__ lookup, int n) {
    extern __shared__ uint4 shared[];
    uint4 *const own = shared;
    Acc *const products = (Acc *)(shared + DEEP * NT * 32);
    let_next_start();
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, warp = threadIdx.x / 32;
    const int block = blockIdx.x % (BZ * BY * BX);
    const i64 item = blockIdx.x / (BZ * BY * BX);
    const int z0 = block / (BY * BX) * TZ, y0 = block / BX % BY * TY, x0 = block % BX * TX;
    for (int e = threadIdx.x; e < DEEP * NT * 32; e += THREADS) own[e] = weights[e];
    __syncthreads();
    wait_for_inputs();

    for (int tile = warp * MT; tile < TILES; tile += WARPS * MT) {
        const uint4 *row[2 * MT];
        bool valid[2 * MT];
        UNROLLED for (int i = 0; i < 2 * MT; ++i) {
            const int r = tile * 16 + i * 8 + g;
            const int z = z0 - LZ + r / (HY * HX), y = y0 - LY + r / HX % HY, x = x0 - LX + r % HX;
            valid[i] = r < ROWS && (uint)z < IZ && (uint)y < IY && (uint)x < IX;
            row[i] = in + (((item * IZ + z) * IY + y) * IX + x) * UNITS;
        }
        uint4 a[DEEP][2 * MT];
        UNROLLED for (int k = 0; k < DEEP; ++k) UNROLLED for (int i = 0; i < 2 * MT; ++i)
            a[k][i] = valid[i] && (UNITS % 4 == 0 || 4 * k + t < UNITS) ? row[i][4 * k + t] : make_uint4(0, 0, 0, 0);
        Acc acc[MT][NT][4];
        UNROLLED for (int i = 0; i < MT; ++i) UNROLLED for (int j = 0; j < NT; ++j) UNROLLED for (int k = 0; k < 4; ++k)
            acc[i][j][k] = 0;
        UNROLLED for (int k = 0; k < DEEP; ++k) UNROLLED for (int j = 0; j < NT; ++j) {
            const uint4 w = own[(k * NT + j) * 32 + lane];
            UNROLLED for (int i = 0; i < MT; ++i) {
                const uint4 low = a[k][2 * i], high = a[k][2 * i + 1];
                mma(acc[i][j], low.x, high.x, low.y, high.y, w.x, w.y);
                mma(acc[i][j], low.z, high.z, low.w, high.w, w.z, w.w);
            }
        }
        UNROLLED for (int i = 0; i < MT; ++i) UNROLLED for (int h = 0; h < 2; ++h) {
            const int r = (tile + i) * 16 + h * 8 + g;
            if (r < ROWS)
                UNROLLED for (int j = 0; j < NT; ++j) UNROLLED for (int e = 0; e < 2; ++e)
                    products[(j * 8 + 2 * t + e) * PITCH + r] = acc[i][j][2 * h + e];
        }
    }
    __syncthreads();

    // A thread takes a position q, a phase in all dimensions but x, and there all phases and channels.
    for (int e = threadIdx.x; e < TZ * SZ * TY * SY * TX; e += THREADS) {
        const int x = e % TX, line = e / TX, fy = line % SY, y = line / SY % TY, fz = line / (SY * TY) % SZ;
        const int z = line / (SY * TY * SZ), oz = (z0 + z) * SZ + fz, oy = (y0 + y) * SY + fy, ox = (x0 + x) * SX;
        if (oz >= OZ || oy >= OY || ox >= OX) continue;
        Acc sum[RUN];
        UNROLLED for (int k = 0; k < RUN; ++k) sum[k] = bias[k % OUT];
        UNROLLED for (int jz = 0; jz < (KZ + SZ - 1) / SZ; ++jz) UNROLLED for (int jy = 0; jy < (KY + SY - 1) / SY; ++jy) {
            // Element k adds to the outputs S (i + d) + f with k - P = S d + f.
            const int kz = (fz + PZ) % SZ + SZ * jz, ky = (fy + PY) % SY + SY * jy;
            if (kz >= KZ || ky >= KY) continue;
            const int rz = z + LZ - (kz - PZ - fz) / SZ, ry = y + LY - (ky - PY - fy) / SY;
            const Acc *const from = products + (kz * KY + ky) * KX * OUT * PITCH + (rz * HY + ry) * HX + x + LX;
            UNROLLED for (int kx = 0; kx < KX; ++kx) {
                constexpr int FAR = PX + SX;  // makes what is divided positive
                const int d = (kx - PX + FAR * SX) / SX - FAR, f = (kx - PX + FAR * SX) % SX;
                UNROLLED for (int c = 0; c < OUT; ++c) sum[f * OUT + c] += from[(kx * OUT + c) * PITCH - d];
            }
        }
        unsigned char *const to = out + (((item * OZ + oz) * OY + oy) * OX + ox) * (OUT * ES);
        UNROLLED for (int k = 0; k < RUN; k += STORED) {
            if (OX % SX && ox + k / OUT >= OX) continue;
            Acc some[STORED];
            UNROLLED for (int w = 0; w < STORED; ++w) some[w] = activate(sum[k + w], lookup);
            store(to + k * ES, some);
        }
    }
}
