"""Pure functions: a series in, a Plotly figure out."""
