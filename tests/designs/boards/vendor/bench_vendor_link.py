"""cocotb test of a whole design behind AXI4-Lite: the host's Link, a socket, the bridge program and the RTL.

The bridge program runs in a thread that cocotb knows, so that its reads and writes of registers are AXI accesses; the
host runs in a thread of its own and sees only a socket.
"""

from __future__ import annotations

import os
import random
import socket
import threading
from typing import Any

import cocotb
import vendor_loopback
from cocotb.clock import Clock
from cocotb.task import bridge, resume
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from designs.boards.link import Link, Patience
from designs.boards.vendor.bridges import pynq_bridge
from designs.boards.vendor.stream import BridgeStream
from designs.flow.bench import CLOCK_NS, generator, save

PREFIX, CLOCK, RESET = (os.environ[f"GATEWARP_{name}"] for name in ("PREFIX", "CLOCK", "RESET"))
WORDS = int(os.environ["GATEWARP_WORDS"])


class Registers:
    """Registers behind an AXI4-Lite master, with the methods of pynq.MMIO."""

    def __init__(self, master: AxiLiteMaster) -> None:
        self.master = master
        self.accesses = 0
        self.read = resume(self._read)
        self.write = resume(self._write)

    async def _read(self, address: int) -> int:
        self.accesses += 1
        return int(await self.master.read_dword(address))

    async def _write(self, address: int, value: int) -> None:
        self.accesses += 1
        await self.master.write_dword(address, value)


class Host(threading.Thread):
    """What `gatewarp deploy` does with the stream; errors are kept for the test."""

    def __init__(self, connection: socket.socket, seed: str) -> None:
        super().__init__(daemon=True)
        self.connection, self.seed = connection, seed
        self.error: BaseException | None = None
        self.said: dict[str, Any] = {}

    def run(self) -> None:
        try:
            self.talk()
        except BaseException as error:
            self.error = error
        finally:
            self.connection.close()

    def talk(self) -> None:
        link = Link(BridgeStream(self.connection), patience=Patience(silent=120, stalled=300))  # a slow machine
        identity = link.identify()
        link.reset()
        rng = random.Random(self.seed)
        data = b"".join(rng.getrandbits(21).to_bytes(3, "little") for _ in range(WORDS))
        expected = vendor_loopback.expected(data)
        got = link.exchange(data, len(expected))
        assert got == expected, "the stream differs"
        counters = link.counters()
        self.said = {
            "name": identity.name, "design": identity.design, "clock_hz": identity.clock_hz,
            "flags": int(counters.flags), "words": [counters.words_in, counters.words_out],
            "bad": link.statistics.bad,
        }  # fmt: skip


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def link_over_axi(dut: Any) -> None:
    rng = generator("link_over_axi")
    clock, reset = getattr(dut, CLOCK), getattr(dut, RESET)
    cocotb.start_soon(Clock(clock, CLOCK_NS, "ns").start())
    reset.value = 0
    await ClockCycles(clock, 5)  # registers start with random values: nobody may look before the reset
    master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, PREFIX), clock, reset, reset_active_level=False)
    await ClockCycles(clock, 5)
    reset.value = 1
    await ClockCycles(clock, 5)

    def pauses(share: float) -> Any:
        while True:
            yield rng.random() < share

    for channel in (master.write_if.aw_channel, master.write_if.w_channel, master.write_if.b_channel,
                    master.read_if.ar_channel, master.read_if.r_channel):  # fmt: skip
        channel.set_pause_generator(pauses(rng.choice([0.0, 0.2, 0.5])))
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    registers = Registers(master)
    host = Host(here, f"{rng.random()}")

    def serve() -> None:
        host.start()
        with there:
            pynq_bridge.serve(pynq_bridge.BytePort(registers), there)

    await bridge(serve)()
    host.join(timeout=10)
    if host.error is not None:
        raise host.error
    cocotb.log.info("%d accesses for %d words", registers.accesses, WORDS)
    save(**host.said)
