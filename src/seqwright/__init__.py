"""The whole family of sequence models, from the n-gram to the Transformer and its children."""

__version__ = "0.1.0"
