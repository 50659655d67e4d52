"""Chart builders: plain Plotly dictionaries with colour tokens, and the table behind each chart."""
