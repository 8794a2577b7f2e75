"""Component weights from development text: perplexity minimisation and EM."""
