"""Estimators that wrap a fitted one and calibrate it on further rows."""
