"""Adaptations that rank n-best lists anew: votes of weight vectors, and bags of systems."""
