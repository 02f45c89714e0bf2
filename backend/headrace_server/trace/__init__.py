"""What a global batch was made of, as far as the record tells."""
