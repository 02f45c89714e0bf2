"""A tiny GPT: pre-norm blocks, learned positions, tied embeddings; fp32 on a CPU.

Documents packed into one sequence never see each other: positions restart at 0 with each document, and attention stays
between two restarts. So a document's logits are the same wherever it lies in a sequence, and whatever lies beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from torch import Tensor, nn
from torch.nn import functional

IGNORED: Final = -100
"a label that no loss is taken of"


@dataclass(frozen=True, kw_only=True)
class GPTConfig:
    """Sizes of the model."""

    vocab_size: int
    seq_len: int
    num_layers: int = 2
    num_heads: int = 4
    width: int = 128
    "of the residual stream; a multiple of num_heads"


class GPT(nn.Module):
    """Next-token logits; see `sequence_losses` for what is trained on."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab_size, config.width)
        self.positions = nn.Embedding(config.seq_len, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.norm = nn.LayerNorm(config.width)
        self.apply(_initialise)

    def forward(self, input_ids: Tensor, position_ids: Tensor) -> Tensor:
        """Logits: float32 (batch, length, vocab_size).

        Args:
            input_ids: int64 (batch, length), below vocab_size.
            position_ids: int64 (batch, length), below seq_len, 0 where a document starts.
        """
        mask = document_mask(position_ids)
        hidden = self.tokens(input_ids) + self.positions(position_ids)
        for block in self.blocks:
            hidden = block(hidden, mask)
        logits: Tensor = functional.linear(self.norm(hidden), self.tokens.weight)
        return logits


class Block(nn.Module):
    """Attention and a feed-forward layer, each added to the residual stream."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.num_heads = config.num_heads
        self.norm_attention = nn.LayerNorm(config.width)
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)
        self.norm_feed = nn.LayerNorm(config.width)
        self.up = nn.Linear(config.width, 4 * config.width)
        self.down = nn.Linear(4 * config.width, config.width)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """`hidden`: float32 (batch, length, width); `mask`: as `document_mask` gives it. Same shape as `hidden`."""
        mixed: Tensor = hidden + self.out(self._attention(self.qkv(self.norm_attention(hidden)), mask))
        fed: Tensor = mixed + self.down(functional.gelu(self.up(self.norm_feed(mixed))))
        return fed

    def _attention(self, qkv: Tensor, mask: Tensor) -> Tensor:
        batch, length, width = qkv.shape
        heads = qkv.view(batch, length, 3, self.num_heads, width // (3 * self.num_heads)).permute(2, 0, 3, 1, 4)
        mixed: Tensor = functional.scaled_dot_product_attention(heads[0], heads[1], heads[2], attn_mask=mask)
        joined: Tensor = mixed.transpose(1, 2).reshape(batch, length, width // 3)
        return joined


def document_mask(position_ids: Tensor) -> Tensor:
    """Who may see whom: bool (batch, 1, length, length), true where the key is earlier in the same document.

    `position_ids`: int64 (batch, length), 0 where a document starts.
    """
    document = (position_ids == 0).cumsum(dim=1)
    same = document.unsqueeze(2) == document.unsqueeze(1)
    return same.tril().unsqueeze(1)


def sequence_losses(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy of each sequence in nats: float32 (batch,); 0 for a sequence without a label.

    `logits`: float32 (batch, length, vocab_size); `labels`: int64 (batch, length), IGNORED where none is.
    """
    losses = functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, reduction="none")
    count = (labels != IGNORED).sum(dim=1).clamp(min=1)
    return losses.view_as(labels).sum(dim=1) / count


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
