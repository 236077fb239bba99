"""Cut a da4ml netlist into pipeline stages by delay, for a given FPGA.

da4ml schedules with unit delays, and with none for the addition of a constant and for a ReLU; on a real part a stage
may then hold three carry chains. Here each operation gets a delay in nanoseconds, and a stage holds what fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: da4ml opcodes (see `da4ml.types.Op`) by what they become; a negative one of 2 and 3 negates its operand first, which
#: costs an adder.
INPUT, CONSTANT = -1, 5
ADDERS = (0, 1, 4)  # sum, difference, sum with a constant


@dataclass(frozen=True)
class Delays:
    """Delays of one part, nanoseconds, routing to the operation's inputs included.

    A carry chain takes `adder` plus `carry` a bit, a layer of LUTs `lut`.
    """

    adder: float
    carry: float
    lut: float


#: Lattice ECP5, speed grade 6: read off nextpnr-ecp5 0.11 critical paths of designs like ours (0.24 ns LUT, 0.45 ns
#: into a carry chain, 0.035 ns a bit, 0.44 ns out of it, 0.9 to 1.2 ns for a net).
ECP5_6 = Delays(adder=2.0, carry=0.035, lut=1.2)


def delay_of(op: Any, width: int, delays: Delays) -> float:
    """Delay of one da4ml operation whose result has `width` bits, ns; ValueError for an opcode without a delay."""
    chain = delays.adder + delays.carry * width
    if op.opcode in ADDERS or op.opcode == -3:
        return chain
    match op.opcode:
        case -1 | 3 | 5:  # input, dropped bits and constants are wires
            return 0.0
        case 2:  # ReLU
            return delays.lut
        case -2:
            return chain + delays.lut
        case _:
            raise ValueError(f"da4ml opcode {op.opcode} has no delay in this flow")


def pipeline(comb: Any, budget_ns: float, delays: Delays) -> Any:
    """Cut a da4ml `CombLogic` into a `Pipeline` whose stages take at most `budget_ns` between registers.

    Greedy, as late as the operands allow; an operation slower than the budget gets a stage of its own.
    Registers stand before the first stage, between stages and behind the last one.
    """
    from da4ml.trace.pipeline import to_pipeline
    from da4ml.types import minimal_kif

    stage: list[int] = []
    elapsed: list[float] = []
    ops = []
    for op in comb.ops:
        operands = [i for i in (op.id0, op.id1) if i >= 0 and op.opcode not in (INPUT, CONSTANT)]
        at = max((stage[i] for i in operands), default=0)
        since = max((elapsed[i] for i in operands if stage[i] == at), default=0.0)
        delay = delay_of(op, sum(minimal_kif(op.qint)), delays)
        if since and since + delay > budget_ns:
            at, since = at + 1, 0.0
        stage.append(at)
        elapsed.append(since + delay)
        # to_pipeline puts an operation into stage floor(latency / cutoff); the cutoff is 1 below.
        ops.append(op._replace(latency=at + 0.5))
    return to_pipeline(comb._replace(ops=ops), 1.0, retiming=False, verbose=False)
