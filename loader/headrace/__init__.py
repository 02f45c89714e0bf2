"""Headrace: the data loader that large language-model training runs on."""
