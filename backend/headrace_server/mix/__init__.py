"""The mix: weights, versions, previews, activations."""
