"""Fitting the performance model: points, material, solver, left-out evaluation."""
