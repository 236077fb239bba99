"""The frames of the shell over Ethernet: RGMII pins, UDP in hardware, the host's socket, and a simulated network.

pins.py has the facts of boards with a gigabit PHY (a TOML file each), top.py the top level around the shell,
bitstream.py its build, udp.py the host's end, simulated.py with main.cpp the board behind a simulated cable, noise.py
faults.
"""
