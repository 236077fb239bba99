"""The bridge programs and the host's stream to them: bytes both ways, no design there, a bridge that leaves."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path

import pytest

from designs.boards.line_errors import LinkLost, NoPort, PortError
from designs.boards.vendor import facts, open_bridge
from designs.boards.vendor.bridges import pynq_bridge
from designs.boards.vendor.stream import BridgeStream
from designs.flow.tools import compiler

HERE = Path(__file__).parent
SEED = int(os.environ.get("GATEWARP_SEED", random.SystemRandom().randrange(1 << 31)))


class Registers:
    """axil_bytes.sv in Python with both streams joined: each byte comes back inverted. Misuse is an error."""

    def __init__(self, depth: int = 512, magic: int = 0x42595445) -> None:
        self.depth, self.magic = depth, magic
        self.bytes: deque[int] = deque()
        self.addresses: set[int] = set()

    def read(self, address: int) -> int:
        self.addresses.add(address)
        if address == 0x10:
            return self.magic
        if address == 0x14:
            return (self.depth - len(self.bytes)) << 16 | len(self.bytes)
        return int.from_bytes(bytes(self.bytes.popleft() for _ in range({0x18: 1, 0x1C: 4}[address])), "little")

    def write(self, address: int, value: int) -> None:
        data = value.to_bytes(4, "little")[: {0x18: 1, 0x1C: 4}[address]]
        self.bytes.extend(byte ^ 0xFF for byte in data)
        assert len(self.bytes) <= self.depth, "a byte was written without room"


def there_and_back(stream: BridgeStream, seed: int) -> None:
    """Send random bytes in random pieces, as a link does, and compare what comes back."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    data = rng.randbytes(20_000)
    sent, got, until = 0, b"", time.monotonic() + 60
    while len(got) < len(data):
        assert time.monotonic() < until, f"{len(got)} of {len(data)} bytes came back"
        if sent < len(data):
            sent += stream.write(data[sent : sent + rng.choice([1, 3, 250, 4000])])
        got += stream.read(65536)
    assert got == bytes(byte ^ 0xFF for byte in data)
    assert stream.read(100) == b"", "nothing more, and no waiting for it"


def read_on(stream: BridgeStream) -> None:
    while True:
        stream.read(10)


@pytest.mark.parametrize("depth", [8, 512])
def test_pynq_bridge(depth: int) -> None:
    registers = Registers(depth)
    registers.bytes.extend([1, 2, 3])  # of an earlier client
    here, board = socket.socketpair()
    serving = threading.Thread(target=pynq_bridge.serve, args=(pynq_bridge.BytePort(registers), board))
    serving.start()
    with BridgeStream(here) as stream:
        until = time.monotonic() + 60
        while registers.bytes and time.monotonic() < until:
            stream.read(1)
        there_and_back(stream, SEED)
    serving.join(timeout=10)
    board.close()
    assert not serving.is_alive(), "it ends with its client"
    assert registers.addresses == {0x10, 0x14, 0x18, 0x1C}


def test_pynq_bridge_as_a_program(tmp_path: Path) -> None:
    """With a stand-in for the package pynq: loads the bitstream, sets the clock, serves clients one after the other."""
    (tmp_path / "pynq.py").write_text(PYNQ)
    command = [sys.executable, str(Path(pynq_bridge.__file__)), "gatewarp.bit", "--port", "0"]
    with started([*command, "--mhz", "142.857143"], {"PYTHONPATH": f"{tmp_path}{os.pathsep}{HERE}"}) as (program, port):
        for number in range(2):
            with open_bridge(f"127.0.0.1:{port}") as stream:
                there_and_back(stream, SEED + number)
                assert kept_alive(port)
        assert program.poll() is None
    for arguments, said in (
        (["other.bit"], "no byte port at this address: it reads 0x00000000, not 0x42595445"),
        (["gatewarp.bit", "--mhz", "300"], "the design was built for 300 MHz, FCLK_CLK0 gives 250"),
    ):
        ran = subprocess.run(
            [*command[:2], *arguments, "--port", "0"], capture_output=True, text=True, timeout=30,
            env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{HERE}"},
        )  # fmt: skip
        assert ran.returncode == 1
        assert said in ran.stderr


def test_pynq_bridge_for_everyone(tmp_path: Path) -> None:
    """Only by choice, and with a warning; by default `started` sees 127.0.0.1."""
    (tmp_path / "pynq.py").write_text(PYNQ)
    command = [sys.executable, str(Path(pynq_bridge.__file__)), "gatewarp.bit", "--port", "0", "--listen", "0.0.0.0"]
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{HERE}"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        assert program.stdout.readline().startswith("byte port at 0.0.0.0:")
        assert program.stderr.readline().startswith("WARNING: whoever reaches 0.0.0.0 drives the design")
        program.kill()


def test_a_client_that_vanished_is_found_out() -> None:
    """By the system's own probes: 10 s of silence, then three of 5 s each."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        client, _ = server.accept()
        with client:
            pynq_bridge.keep_alive(client)
            assert client.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
            assert [client.getsockopt(socket.IPPROTO_TCP, option) for option in options] == [10, 5, 3]


def kept_alive(port: int) -> bool:
    """Whether the bridge's end of its connection has a keepalive timer (2) of 10 s, from the system's own table.

    Another timer goes first while bytes are on their way, so it is asked for some seconds.
    """
    until = time.monotonic() + 5
    while time.monotonic() < until:
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        timers = [row[5].split(":") for row in rows if row[1] == f"0100007F:{port:04X}" and row[3] == "01"]
        if len(timers) == 1 and timers[0][0] == "02":
            return int(timers[0][1], 16) <= 10 * os.sysconf("SC_CLK_TCK")
        time.sleep(0.01)
    return False


#: The package pynq as far as the bridge uses it; FCLK_CLK0 takes what it is told up to 250 MHz.
PYNQ = """\
from test_vendor_bridge import Registers

class Overlay:
    loaded = ""
    def __init__(self, path):
        Overlay.loaded = path

class _Meta(type):
    mhz = 100.0
    @property
    def fclk0_mhz(cls):
        return _Meta.mhz
    @fclk0_mhz.setter
    def fclk0_mhz(cls, wanted):
        _Meta.mhz = min(wanted, 250.0)

class Clocks(metaclass=_Meta):
    pass

def MMIO(base, size):
    assert (base, size) == (0x43C00000, 0x1000)
    return Registers(magic=0x42595445 if Overlay.loaded == "gatewarp.bit" else 0)
"""


class started:
    """A bridge program that runs, and the port that it says; ended afterwards."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        self.command, self.env = command, {**os.environ, **env}

    def __enter__(self) -> tuple[subprocess.Popen[str], int]:
        self.program = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True, env=self.env)
        assert self.program.stdout is not None
        line = self.program.stdout.readline()
        assert line.startswith("byte port at 127.0.0.1:"), line
        return self.program, int(line.rsplit(":", 1)[1])

    def __exit__(self, *_: object) -> None:
        self.program.kill()
        self.program.wait()
        assert self.program.stdout is not None
        self.program.stdout.close()


@pytest.fixture(scope="module")
def xrt_bridge(tmp_path_factory: pytest.TempPathFactory) -> str:
    """xrt_bridge.cpp compiled with stand-ins for the headers of XRT."""
    program = tmp_path_factory.mktemp("xrt") / "xrt_bridge"
    source = facts.FOLDER / "bridges" / "xrt_bridge.cpp"
    warnings = ["-Wall", "-Wextra", "-Werror"]
    subprocess.run(
        [compiler(), "-std=c++17", "-O1", *warnings, f"-I{HERE / 'xrt_stand_in'}", str(source), "-o", str(program)],
        check=True,
    )
    return str(program)


def test_xrt_bridge(xrt_bridge: str, tmp_path: Path) -> None:
    xclbin = tmp_path / "gatewarp.xclbin"
    xclbin.write_bytes(b"xclbin")
    with started([xrt_bridge, str(xclbin), "--port", "0"], {}) as (program, port):
        for number in range(2):
            with open_bridge(f"127.0.0.1:{port}") as stream:
                there_and_back(stream, SEED + number)
                assert kept_alive(port)
        assert program.poll() is None
        second = subprocess.run([xrt_bridge, str(xclbin), "--port", str(port)], capture_output=True, text=True)
        assert "choose another with --port" in second.stderr
        with open_bridge(f"127.0.0.1:{port}") as stream:
            stream.write(b"x")
            program.kill()
            program.wait()
            with pytest.raises(LinkLost, match="the bridge on the board's side went away in mid-run"):
                read_on(stream)


@pytest.mark.parametrize(
    ("arguments", "env", "said"),
    [
        ([], {}, "ERROR: usage: xrt_bridge gatewarp.xclbin"),
        (["{there}", "--what"], {}, "not --what"),
        (["none.xclbin"], {}, "ERROR: failed to open xclbin file 'none.xclbin'"),
        (["{there}", "--device", "3"], {}, "no such device with index '3'"),
        (["{there}"], {"GATEWARP_NO_PORT": "1"}, "no byte port in this kernel: it reads 0x00000000"),
    ],
)
def test_xrt_bridge_refuses(
    xrt_bridge: str, tmp_path: Path, arguments: list[str], env: dict[str, str], said: str
) -> None:
    (tmp_path / "gatewarp.xclbin").write_bytes(b"xclbin")
    words = [word.format(there=tmp_path / "gatewarp.xclbin") for word in arguments]
    ran = subprocess.run([xrt_bridge, *words], capture_output=True, text=True, env={**os.environ, **env}, timeout=10)
    assert ran.returncode == 1
    assert said in ran.stderr


def test_no_bridge() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(NoPort, match=rf"no bridge answers at 127\.0\.0\.1:{port} .*README\.md"):
        open_bridge(f"127.0.0.1:{port}")
    for address in ("", ":2000", "board:serial"):
        with pytest.raises(PortError, match="give host:port, such as"):
            open_bridge(address)


def test_a_bridge_that_takes_nothing() -> None:
    """Bytes wait at the host, as `Stream.write` says; nothing blocks."""
    here, board = socket.socketpair()
    with BridgeStream(here) as stream, board:
        taken = 1
        while taken:
            taken = stream.write(bytes(1 << 16))
        assert stream.write(b"more") == 0
        board.close()
        with pytest.raises(LinkLost):
            stream.write(b"more")
