"""The probes of frozen vectors, against scikit-learn's own neighbours."""

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.neighbors import KNeighborsClassifier

from seqwright.analysis.alike import nearest_vectors
from seqwright.analysis.probe import votes

N, M, D, C, K = 53, 17, 7, 5, 11


def test_neighbours_vote_as_those_of_scikit_learn_do() -> None:
    rng = np.random.default_rng(1)
    bank_ND, asked_MD, label_N = rng.normal(size=(N, D)), rng.normal(size=(M, D)), rng.integers(C, size=N)
    temperature = 0.3
    cosine_MK, place_MK = nearest_vectors(torch.from_numpy(bank_ND), torch.from_numpy(asked_MD), K)
    vote_MC = votes(cosine_MK, label_N[place_MK], temperature=temperature, classes=C)
    theirs = KNeighborsClassifier(
        K, metric="cosine", weights=lambda distance: np.exp((1 - distance) / temperature), algorithm="brute"
    ).fit(bank_ND, label_N)
    np.testing.assert_allclose(vote_MC / vote_MC.sum(1, keepdims=True), theirs.predict_proba(asked_MD), atol=1e-12)


def test_the_nearest_vectors_are_those_of_the_largest_cosine() -> None:
    draw = torch.Generator().manual_seed(2)
    bank_ND, asked_MD = torch.randn(N, D, generator=draw), torch.randn(M, D, generator=draw)
    cosine_MK, place_MK = nearest_vectors(bank_ND, asked_MD, K)
    every_MN = (F.normalize(asked_MD.double(), dim=1) @ F.normalize(bank_ND.double(), dim=1).T).numpy()
    np.testing.assert_allclose(cosine_MK, -np.sort(-every_MN, axis=1)[:, :K])
    np.testing.assert_array_equal(np.take_along_axis(every_MN, place_MK, 1).argmax(1), 0)


def test_votes_of_a_small_temperature_are_numbers() -> None:
    vote_1C = votes(np.array([[1.0, 0.99, -1.0]]), np.array([[2, 0, 1]]), temperature=1e-3, classes=3)
    assert np.isfinite(vote_1C).all()
    assert vote_1C.argmax() == 2
