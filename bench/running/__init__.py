"""Modules of bench/run."""
