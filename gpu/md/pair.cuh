// The force of a pair, and the instructions that have no C++ name. Macros: see bricks.py.
#define DEVICE __device__ __forceinline__

DEVICE float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
DEVICE float reciprocal_root(float x) {
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
DEVICE float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

struct Place { float x, y, z; };
// 48 epsilon sigma^12, 24 epsilon sigma^6, Coulomb's constant times both charges.
struct Terms { float repel, attract, charges; };
// The terms of a particle with each kind of partner.
struct Partners { Terms of[KINDS]; };

DEVICE Partners partners(int kind) {
#if KINDS == 1
    return {{{REPEL_00, ATTRACT_00, CHARGES_00}}};
#else
    return kind ? Partners{{{REPEL_01, ATTRACT_01, CHARGES_01}, {REPEL_11, ATTRACT_11, CHARGES_11}}}
                : Partners{{{REPEL_00, ATTRACT_00, CHARGES_00}, {REPEL_01, ATTRACT_01, CHARGES_01}}};
#endif
}

// Force over distance on this particle along x - q, 0 beyond the cutoff; `other` is the partner's kind as a number.
DEVICE float pair(const Partners &all, float r2, float other) {
    Terms t = all.of[0];
#if KINDS > 1
    if (other != 0.0f) t = all.of[1];
#endif
#if SWITCHED || COULOMB
    const float inverse = reciprocal_root(r2), inverse2 = inverse * inverse, r = r2 * inverse;
#else
    const float inverse2 = reciprocal(r2);
#endif
    const float inverse6 = inverse2 * inverse2 * inverse2;
    float force = inverse6 * inverse2 * (t.repel * inverse6 - t.attract);
#if SWITCHED
    // S = 1 - 10 s^3 + 15 s^4 - 6 s^5 of the energy, s from 0 at the switch to 1 at the cutoff and beyond.
    const float s = __saturatef(r * SWITCH_SLOPE - SWITCH_START), s2 = s * s, left = s - 1.0f;
    const float energy = inverse6 * (t.repel * (1.0f / 12) * inverse6 - t.attract * (1.0f / 6));
    force = force * (1.0f - s2 * s * (10.0f + s * (6.0f * s - 15.0f))) +
            energy * inverse * (30.0f * SWITCH_SLOPE) * s2 * left * left;
#endif
#if COULOMB
    // erfc(x) = exp(-x^2) times a polynomial in 1 / (1 + p x): Abramowitz and Stegun 7.1.26, error below 1.5e-7.
    const float gauss = power_of_two(r2 * EWALD_EXPONENT);
    const float p = reciprocal(1.0f + 0.3275911f * EWALD * r);
    const float erfc = gauss * p * (0.254829592f + p * (-0.284496736f + p * (1.421413741f +
                       p * (-1.453152027f + p * 1.061405429f))));
    force += t.charges * inverse2 * (erfc * inverse + EWALD_SLOPE * gauss);
#endif
    return r2 < CUTOFF2 ? force : 0.0f;
}
