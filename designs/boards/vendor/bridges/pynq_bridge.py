"""Serves the byte port of a Gatewarp design on a PYNQ board over TCP. Runs on the board, as root, with PYNQ installed.

    python3 pynq_bridge.py gatewarp.bit [--port 2000] [--mhz 142.857143] [--listen 127.0.0.1]

Loads the bitstream (with gatewarp.hwh beside it), checks the clock and that the byte port is there, and carries bytes
between one client at a time and the design. It knows nothing of what the bytes mean. It needs Python 3.8 and `pynq`.
No password is asked for, so it listens on the board's own 127.0.0.1: another machine comes through ssh, which asks
(`ssh -L 2000:127.0.0.1:2000 xilinx@BOARD`).
"""

from __future__ import annotations

import argparse
import select
import socket
import sys
import time
from typing import Any

#: Where the block design puts the byte port, and its size.
BASE, SIZE = 0x43C0_0000, 0x1000

#: Registers of axil_bytes.sv.
IDENT, STATUS, BYTE, WORD, FLAGS = 0x10, 0x14, 0x18, 0x1C, 0x20
MAGIC = 0x4259_5445

#: Bytes that wait for room in the design before no more are taken from the client.
PENDING = 4096

#: A client that vanished without a word is noticed after IDLE + CNT * INTVL seconds; else it would hold its place.
KEEPALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}


class BytePort:
    """Bytes through the registers: `registers` has read(address) -> int and write(address, value), as pynq.MMIO."""

    def __init__(self, registers: Any) -> None:
        self.registers = registers
        found = registers.read(IDENT)
        if found != MAGIC:
            raise SystemExit(
                f"no byte port at this address: it reads 0x{found:08x}, not 0x{MAGIC:08x}; is this the bitstream?"
            )

    def move(self, data: bytes) -> tuple[int, bytes]:
        """Write what there is room for, read what is there: the count of bytes written, and the bytes read."""
        status = self.registers.read(STATUS)
        there, room = status & 0xFFFF, status >> 16
        write, read = self.registers.write, self.registers.read
        count = min(room, len(data))
        words = count // 4
        for at in range(0, 4 * words, 4):
            write(WORD, int.from_bytes(data[at : at + 4], "little"))
        for at in range(4 * words, count):
            write(BYTE, data[at])
        got = b"".join(read(WORD).to_bytes(4, "little") for _ in range(there // 4))
        return count, got + bytes(read(BYTE) & 0xFF for _ in range(there % 4))


def serve(port: BytePort, client: socket.socket, idle_s: float = 0.0005) -> None:
    """Carry bytes until the client closes; those that nobody waited for are dropped first."""
    client.setblocking(False)
    while port.move(b"")[1]:
        pass
    to_board, to_client = b"", b""
    while True:
        moved = False
        if len(to_board) < PENDING:
            try:
                data = client.recv(PENDING)
                if not data:
                    return
                to_board += data
                moved = True
            except BlockingIOError:
                pass
        count, got = port.move(to_board)
        to_board, to_client = to_board[count:], to_client + got
        if to_client:
            try:
                to_client = to_client[client.send(to_client) :]
            except BlockingIOError:
                select.select([], [client], [], idle_s)
        if not (moved or count or got):
            select.select([client], [], [], idle_s)


def keep_alive(client: socket.socket) -> None:
    """Ask the system to find out that the client is gone: within 25 s, whether bytes to it wait or not."""
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEPALIVE.items():
        client.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 25_000)  # ms; keepalive waits while bytes wait


def load(bitstream: str, mhz: float) -> Any:
    """Load the bitstream and return its registers; the clock must be what the design was built for."""
    from pynq import MMIO, Clocks, Overlay  # type: ignore[import-not-found]  # only on the board

    Overlay(bitstream)  # loads it, and sets the clock that gatewarp.hwh tells
    if mhz and abs(Clocks.fclk0_mhz / mhz - 1) > 0.001:
        Clocks.fclk0_mhz = mhz
        time.sleep(0.01)
    if mhz and abs(Clocks.fclk0_mhz / mhz - 1) > 0.001:
        raise SystemExit(
            f"the design was built for {mhz:g} MHz, FCLK_CLK0 gives {Clocks.fclk0_mhz:g}; build it for that clock"
        )
    return MMIO(BASE, SIZE)


def main(arguments: list[str]) -> None:
    """Load the design, then serve one client after the other until interrupted."""
    parser = argparse.ArgumentParser(description="Serve the byte port of a Gatewarp design over TCP.")
    parser.add_argument("bitstream")
    parser.add_argument("--port", type=int, default=2000)
    parser.add_argument(
        "--listen",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="default 127.0.0.1, the board alone; 0.0.0.0: everyone",
    )
    parser.add_argument("--mhz", type=float, default=0.0, help="clock that the design was built for")
    chosen = parser.parse_args(arguments)
    port = BytePort(load(chosen.bitstream, chosen.mhz))
    if not chosen.listen.startswith("127."):
        print(f"WARNING: whoever reaches {chosen.listen} drives the design; no password is asked for", file=sys.stderr)
    with socket.create_server((chosen.listen, chosen.port)) as server:
        print(f"byte port at {chosen.listen}:{server.getsockname()[1]}", flush=True)
        while True:
            client, who = server.accept()
            print(f"client {who[0]}", flush=True)
            with client:
                keep_alive(client)
                try:
                    serve(port, client)
                except OSError as error:
                    print(f"client left: {error}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
