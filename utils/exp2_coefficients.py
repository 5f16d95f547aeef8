"""Prints the polynomials of lib/Conversion/FAToVector/Exp2.cpp: 2^f = 1 + f q(f), minimax in relative error.

float32: reweighted least squares in double (a Lawson iteration); float64: interpolation at Chebyshev nodes in 60 digits.
Needs numpy and mpmath.
"""
import math

import mpmath
import numpy


def lawson(degree, low, high, count=4001, iterations=200):
    """Coefficients of q and the largest relative error of 1 + f q(f) on [low, high]."""
    nodes = (numpy.arange(count) + 0.5) * math.pi / count
    f = (low + high) / 2 - (high - low) / 2 * numpy.cos(nodes)
    power = numpy.exp2(f)
    basis = numpy.stack([f**k / power for k in range(1, degree + 1)], 1)
    target = 1 - 1 / power
    weights = numpy.ones(count)
    best = (math.inf, None)
    for _ in range(iterations):
        root = numpy.sqrt(weights)
        q = numpy.linalg.lstsq(basis * root[:, None], target * root, rcond=None)[0]
        error = numpy.abs(basis @ q - target)
        best = min(best, (error.max(), tuple(q)))
        weights = weights * (error + 1e-30)
        weights /= weights.sum()
    return best


def interpolate(degree, low, high):
    """The same in high precision, near minimax."""
    mpmath.mp.dps = 60
    low, high = mpmath.mpf(low), mpmath.mpf(high)
    nodes = [(low + high) / 2 - (high - low) / 2 * mpmath.cos(mpmath.pi * (k + mpmath.mpf(1) / 2) / degree)
             for k in range(degree)]
    system = mpmath.matrix(degree, degree)
    target = mpmath.matrix(degree, 1)
    for row, f in enumerate(nodes):
        target[row] = (mpmath.mpf(2)**f - 1) / f
        for column in range(degree):
            system[row, column] = f**column
    q = mpmath.lu_solve(system, target)
    error = 0
    for k in range(2001):
        f = low + (high - low) * k / 2000
        value = 1 + sum(q[j] * f**(j + 1) for j in range(degree))
        error = max(error, abs(value / mpmath.mpf(2)**f - 1))
    return error, [float(c) for c in q]


if __name__ == "__main__":
    for name, low, high in (("positive", 0, 1), ("centred", -0.5, 0.5)):
        error, q = lawson(5, low, high)
        print(f"{name}F32 error {error:.3g}:", ", ".join(f"{c:.9g}" for c in q))
    # A node at 0 would make the interpolation singular.
    for name, low, high in (("positive", "0", "1"), ("centred", "-0.502", "0.5")):
        error, q = interpolate(11, low, high)
        print(f"{name}F64 error {mpmath.nstr(error, 3)}:", ", ".join(repr(c) for c in q))
