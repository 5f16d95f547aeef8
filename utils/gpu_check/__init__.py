"""The parts of utils/gpu-check.py. They run on any Python from 3.8 on and need nothing but its library."""
