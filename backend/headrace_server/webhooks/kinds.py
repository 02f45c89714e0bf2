"""What a webhook may be told of."""

from typing import Literal

# What can be subscribed to.
SubscribedKind = Literal["alert.firing", "alert.acknowledged", "alert.resolved", "mix.edited", "attempt.ended"]
# And what is sent on request.
EventKind = Literal[SubscribedKind, "test"]
