"""Documents of the trade: translation memories and catalogues of messages."""
