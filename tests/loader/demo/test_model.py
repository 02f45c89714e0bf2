"""The tiny GPT: shapes, learning, and documents that never see each other."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from headrace.demo.model import GPT, IGNORED, GPTConfig, document_mask, sequence_losses

CONFIG = GPTConfig(vocab_size=97, seq_len=24, num_layers=2, num_heads=2, width=32)
BOUNDS = [0, 5, 6, 17, 24]


@pytest.fixture
def model() -> GPT:
    torch.manual_seed(0)
    return GPT(CONFIG)


def packed() -> tuple[torch.Tensor, torch.Tensor]:
    """One sequence of four documents, cut at BOUNDS: ids and positions, int64 (1, 24)."""
    ids = torch.randint(0, CONFIG.vocab_size, (1, CONFIG.seq_len), generator=torch.Generator().manual_seed(1))
    positions = torch.cat([torch.arange(end - start) for start, end in pairwise(BOUNDS)])
    return ids, positions.unsqueeze(0)


def test_shape_and_first_loss(model: GPT) -> None:
    ids, positions = packed()
    logits = model(ids, positions)
    assert logits.shape == (1, 24, 97)
    assert logits.dtype == torch.float32
    assert sequence_losses(logits, ids.flip(1)).item() == pytest.approx(torch.tensor(97.0).log().item(), abs=0.3)


def test_the_mask_is_causal_and_block_diagonal() -> None:
    mask = document_mask(torch.tensor([[0, 1, 0, 1, 2], [0, 1, 2, 3, 4]]))
    two, one = mask[:, 0].int().tolist()
    assert two == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 1, 1, 1]]
    assert one == torch.ones(5, 5).tril().int().tolist()


@pytest.mark.parametrize("place", range(24))
def test_a_changed_token_moves_only_later_tokens_of_its_document(model: GPT, place: int) -> None:
    ids, positions = packed()
    changed = ids.clone()
    changed[0, place] = (changed[0, place] + 1) % CONFIG.vocab_size
    moved = (model(ids, positions) != model(changed, positions)).any(dim=-1)[0]
    end = next(bound for bound in BOUNDS if bound > place)
    assert moved.nonzero().flatten().tolist() == list(range(place, end))


def test_a_document_has_the_same_logits_wherever_it_lies(model: GPT) -> None:
    ids, positions = packed()
    together = model(ids, positions)
    for start, end in pairwise(BOUNDS):
        alone = model(ids[:, start:end], positions[:, start:end])
        torch.testing.assert_close(alone, together[:, start:end], rtol=1e-4, atol=1e-5)


def test_losses_are_per_sequence_and_skip_ignored_labels() -> None:
    logits = torch.zeros(3, 4, 5)
    logits[1, :, 2] = 50.0
    labels = torch.tensor([[1, 2, 3, 4], [2, 2, IGNORED, IGNORED], [IGNORED] * 4])
    losses = sequence_losses(logits, labels)
    torch.testing.assert_close(losses, torch.tensor([torch.tensor(5.0).log(), 0.0, 0.0]))


def test_loss_falls_on_a_repeated_batch(model: GPT) -> None:
    ids, positions = packed()
    labels = torch.cat([ids[:, 1:], torch.full((1, 1), IGNORED)], dim=1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(30):
        loss = sequence_losses(model(ids, positions), labels).mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]
