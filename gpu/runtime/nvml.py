"""Energy of an NVIDIA GPU from NVML's total-energy counter.

The counter counts millijoules of the whole module (chip and memory: boundary `board`) and changes about every 100 ms
(seen on an H200), so a window opens and closes on a change of the counter and lasts at least 5 s. The instantaneous
power is read on the way; counter and power disagreeing by more than 5 % is flagged, not hidden.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

WINDOW_S = 5.0
WINDOWS = 4
#: Counter and integrated power may differ by this fraction before the record says so.
AGREEMENT = 0.05
_FROZEN_S = 2.0
_FIELD_INSTANT = 186  # NVML_FI_DEV_POWER_INSTANT, mW


class EnergyError(RuntimeError):
    """The energy cannot be measured here; the message says why."""


@dataclass(frozen=True)
class Window:
    """One window: `joules` by the counter, `seconds`, units of `work` done, `watts` the mean of the power readings."""

    joules: float
    seconds: float
    work: int
    watts: float | None

    @property
    def disagreement(self) -> float | None:
        """Relative difference of power readings and counter, or None without readings."""
        return None if self.watts is None else abs(self.watts * self.seconds / self.joules - 1.0)


class Nvml:
    """Counter, power, temperature and clock of GPU `index`.

    Errors: EnergyError where NVML is missing, or the counter is and `energy` is wanted.
    """

    def __init__(self, index: int, library: Any = None, *, energy: bool = True) -> None:
        self._nvml = library = library if library is not None else _library()
        try:
            library.nvmlInit()
            self._handle = library.nvmlDeviceGetHandleByIndex(index)
            self.driver = _text(library.nvmlSystemGetDriverVersion())
            if energy:
                self.millijoules()
        except EnergyError:
            raise
        except Exception as error:
            raise EnergyError(f"NVML does not answer for GPU {index}: {error}") from None

    def millijoules(self) -> int:
        """The total-energy counter, mJ since the driver was loaded."""
        return int(self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle))

    def watts(self) -> float | None:
        """Instantaneous power, W, or None where the field is not supported."""
        value = self._nvml.nvmlDeviceGetFieldValues(self._handle, [_FIELD_INSTANT])[0]
        return None if value.nvmlReturn != 0 else value.value.uiVal / 1000.0

    def celsius(self) -> int:
        """Temperature of the GPU."""
        return int(self._nvml.nvmlDeviceGetTemperature(self._handle, 0))

    def sm_clock(self) -> int | None:
        """Clock of the multiprocessors now, MHz, or None where NVML does not tell it."""
        try:
            return int(self._nvml.nvmlDeviceGetClockInfo(self._handle, 1))
        except Exception:  # whatever class the library raises: a clock that is not told is absent
            return None


def measure_window(
    meter: Any,
    work: Callable[[], int],
    *,
    seconds: float = WINDOW_S,
    clock: Callable[[], float] = time.perf_counter,
) -> Window:
    """Run `work` (about 10 ms, returns what it did, complete when it returns) from one counter change to another.

    Errors: EnergyError when the counter does not move for 2 s, or moved by nothing over the window.
    """
    # Open on an edge of the counter, with the load already running.
    start_energy, start_time, _ = _edge(meter, work, clock)
    done, readings, polled = 0, [], start_time
    while clock() - start_time < seconds:
        done += work()
        if clock() - polled >= 0.1:
            polled = clock()
            readings.append(meter.watts())
    energy, end, more = _edge(meter, work, clock)
    done += more
    joules = (energy - start_energy) / 1000.0
    if joules <= 0 or end <= start_time:
        raise EnergyError(f"the energy counter gained {joules} J in {end - start_time:.3f} s: not usable")
    known = [r for r in readings if r is not None]
    return Window(joules, end - start_time, done, sum(known) / len(known) if known else None)


def _edge(meter: Any, work: Callable[[], int], clock: Callable[[], float]) -> tuple[int, float, int]:
    before, begun, done = meter.millijoules(), clock(), 0
    while True:
        done += work()
        now = meter.millijoules()
        if now != before:
            return now, clock(), done
        if clock() - begun > _FROZEN_S:
            raise EnergyError(f"the energy counter stood still at {before} mJ for {_FROZEN_S:g} s")


def idle_power(
    meter: Any,
    *,
    seconds: float = 2.0,
    clock: Callable[[], float] = time.perf_counter,
    sleep: Callable[[float], None] = time.sleep,
) -> float:
    """Power, W, of the GPU without work, by the counter over `seconds`."""

    def rest() -> int:
        sleep(0.01)
        return 1

    window = measure_window(meter, rest, seconds=seconds, clock=clock)
    return window.joules / window.seconds


def _library() -> Any:
    try:
        import pynvml
    except ImportError:
        raise EnergyError("NVML needs the package nvidia-ml-py (pip install nvidia-ml-py)") from None
    return pynvml


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
