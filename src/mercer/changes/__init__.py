"""Changes in ordered rows: where a series changes, and whether new rows still look like the old ones."""

from mercer.changes.change_points import ChangePoints as ChangePoints
from mercer.changes.change_points import change_points as change_points
from mercer.changes.drift_monitor import DriftMonitor as DriftMonitor
