"""Training and prediction data: problems, pair features, binning."""
