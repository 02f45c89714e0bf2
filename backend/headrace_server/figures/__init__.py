"""Pure functions: series in, a Plotly figure with its description and its table out."""
