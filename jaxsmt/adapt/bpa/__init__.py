"""Bayesian predictive adaptation (Sanchis-Trilles & Casacuberta 2015)."""
