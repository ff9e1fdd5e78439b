"""Prediction of time, disk and memory of large jobs from measured costs."""
