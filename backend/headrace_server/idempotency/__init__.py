"""A request sent twice under one Idempotency-Key is carried out once, and answered alike."""
