"""Rollups: reports by the minute, kept long after the reports themselves are gone."""
