"""Training, tuning and calibration of a linker."""
