"""When did a machine change, and would you have noticed in time?

Change points, a drift monitor, and tests for rows that depend on their neighbors.

    python examples/machine_over_time.py [--out FOLDER]

Three sensors of a machine are simulated for 900 hours. From hour 300 the vibration is stronger with the same mean, from hour
600 the temperature is higher. The sensors remember the hours before (an autoregressive process). `change_points` looks back
and finds both changes. `DriftMonitor` knows the first 200 hours of a machine without memory and raises an alarm while rows
arrive. Two sensors that have nothing to do with each other look dependent to a test that ignores the order of the rows.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mercer import DriftMonitor, change_points, hsic_test
from mercer.changes import ChangePoints

SENSORS = ("vibration", "temperature", "load")
HOURS, STRONGER, WARMER, MEMORY = 900, 300, 600, 0.3


def machine(memory: float = MEMORY, seed: int = 1) -> NDArray[np.float64]:  # -> (HOURS, 3)
    """Draw the sensors; every value is `memory` times the one before plus noise."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(HOURS, 3))
    values = np.zeros((HOURS, 3))
    for hour in range(1, HOURS):
        values[hour] = memory * values[hour - 1] + noise[hour]
    values[STRONGER:, 0] *= 4.0
    values[WARMER:, 1] += 3.0
    return values


def walks(seed: int = 1) -> NDArray[np.float64]:  # -> (400, 2)
    """Two independent series with a long memory."""
    rng = np.random.default_rng(seed)
    values = np.zeros((400, 2))
    for hour in range(1, 400):
        values[hour] = 0.95 * values[hour - 1] + rng.normal(size=2)
    return values


def draw(folder: Path, X: NDArray[np.float64], found: ChangePoints, alarms: list[tuple[int, str]]) -> None:
    """Draw the sensors with changes as lines, and the alarms as triangles."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(3, 1, figsize=(9, 5), sharex=True, layout="constrained")
    for ax, name, values in zip(axes, SENSORS, X.T, strict=True):
        ax.plot(values, lw=0.7, color="tab:blue")
        ax.set_ylabel(name)
        for place in found.places.tolist():
            ax.axvline(place - 0.5, color="tab:red", lw=1.2)
        for hour, sensor in alarms:
            if sensor == name:
                ax.plot(hour, values.max(), marker="v", color="black", ls="", label=f"alarm at hour {hour}")
                ax.legend(frameon=False, loc="upper left")
    axes[0].set_title("changes found looking back (lines), alarms while rows arrive (triangles)")
    axes[-1].set_xlabel("hour")
    figure.savefig(folder / "machine_over_time.png", dpi=110)


def main() -> None:
    """Print changes, alarms and both tests; draw on request."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, help="a folder to write pictures to")
    options = parser.parse_args()
    X = machine()
    found = change_points(X)
    print(found)

    arriving = machine(memory=0.0)
    alarms: list[tuple[int, str]] = []
    start = 200
    while start < HOURS and len(alarms) < 2:
        monitor = DriftMonitor(run_length=10_000).fit(arriving[start - 200 : start])
        if not monitor.update(arriving[start:]):
            break
        hour = start + int(monitor.alarm_row_ or 0)
        moved = [SENSORS[column.name] for column in monitor.moved()]
        print(f"alarm after hour {hour}: {' and '.join(moved) or 'no single sensor'} moved")
        alarms.append((hour, moved[0] if moved else SENSORS[0]))
        start = hour + 200  # the new state becomes the reference

    first, second = walks().T[:, :, None]
    plain, shifted = hsic_test(first, second, random_state=0), hsic_test(first, second, blocks="auto", random_state=0)
    print(f"two unrelated sensors, order ignored: p = {plain.pvalue:.3f}; with time shifts: p = {shifted.pvalue:.3f}")
    if options.out is not None:
        draw(options.out, X, found, alarms)


if __name__ == "__main__":
    main()
