"""Whether Markov chains have converged, and what their draws are worth (Vehtari et al. 2021)."""

import numpy as np


def r_hat(draws: np.ndarray) -> np.ndarray:
    """[F]: rank-normalised split R̂ of draws [C, T, F], near 1 where the chains agree; below 1.01 is good.

    The larger one of the ranks of the draws and of their distances from the median (section 4); NaN for fewer than 4
    draws a chain; 1 for a weight that never moves.
    """
    halves = _split(draws)
    if halves.shape[1] < 2:
        return np.full(draws.shape[2], np.nan)
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    return np.maximum(_plain_r_hat(_normal_ranks(halves)), _plain_r_hat(_normal_ranks(folded)))


def effective_size(draws: np.ndarray) -> np.ndarray:
    """[F]: how many independent draws the draws [C, T, F] are worth for the bulk of the distribution (section 3.2)."""
    halves = _normal_ranks(_split(draws))
    num_chains, length, num_weights = halves.shape
    if length < 4:
        return np.full(num_weights, np.nan)
    centred = halves - halves.mean(1, keepdims=True)
    covariance = _autocovariance(centred)  # [C, T, F]
    within = covariance[:, 0].mean(0) * length / (length - 1)
    total = within * (length - 1) / length + halves.mean(1).var(0, ddof=1) if num_chains > 1 else within
    correlation = 1.0 - (within - covariance.mean(0)) / np.where(total > 0, total, 1.0)
    correlation[0] = 1.0
    sizes = num_chains * length / np.array([_correlation_time(column) for column in correlation.T])
    return np.where(total > 0, np.minimum(sizes, num_chains * length * np.log10(num_chains * length)), np.nan)


def importance_size(log_weights: np.ndarray) -> float:
    """(Σw)² / Σw² of log importance weights [S]: how many equally weighted draws they are worth."""
    weights = np.exp(log_weights - log_weights.max())
    return float(weights.sum() ** 2 / (weights**2).sum())


def _split(draws: np.ndarray) -> np.ndarray:
    """Each chain as two of half its length: [2C, T // 2, F]."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def _normal_ranks(draws: np.ndarray) -> np.ndarray:
    """Normal scores of the ranks over all chains (equation 14)."""
    from scipy.special import ndtri
    from scipy.stats import rankdata  # only here: it takes as long to load as JAX

    flat = draws.reshape(-1, draws.shape[2])
    return ndtri((rankdata(flat, axis=0) - 0.375) / (len(flat) + 0.25)).reshape(draws.shape)


def _plain_r_hat(draws: np.ndarray) -> np.ndarray:
    """√((W (T−1)/T + B/T) / W) (equations 1 to 4)."""
    length = draws.shape[1]
    within = draws.var(1, ddof=1).mean(0)
    between = draws.mean(1).var(0, ddof=1)
    ratio = (length - 1) / length + between / np.where(within > 0, within, 1.0)
    stuck = np.where(between > 0, np.inf, 1.0)
    return np.sqrt(np.where(within > 0, ratio, stuck))


def _autocovariance(centred: np.ndarray) -> np.ndarray:
    """[C, T, F] of centred draws [C, T, F], by Fourier transforms."""
    length = centred.shape[1]
    spectrum = np.fft.rfft(centred, 2 * length, axis=1)
    return np.fft.irfft(spectrum * spectrum.conj(), 2 * length, axis=1)[:, :length] / length


def _correlation_time(correlation: np.ndarray) -> float:
    """1 + 2 Σ ρ_t of correlations [T], cut where sums of pairs stop being positive and falling (Geyer 1992)."""
    pairs = correlation[: len(correlation) // 2 * 2].reshape(-1, 2).sum(1)
    num_positive = int(np.append(pairs > 0, False).argmin())
    falling = np.minimum.accumulate(pairs[:num_positive])
    return max(2.0 * falling.sum() - 1.0, 1.0 / np.log10(len(correlation) + 10.0))
