"""The bench: how fast each part of the package is beside programs people already trust, and how far from the limit.

    python -m benchmarks                          the questions, a line each
    python -m benchmarks decoding ngrams          some of them
    python -m benchmarks all --quick              all in small, below three minutes

A question is one file. Its contestants, ours and the peers, are functions that make ready what they measure; each runs
in a process of its own, a peer in an environment of its own, and they take turns.
"""
