"""Tcl of the projects: what Vivado runs to build the bitstream or to pack the kernel, to report, and to program.

Every script works in its own folder, whatever folder it is started from, names files relative to it, and stops with an
ERROR line when something is not as the design needs it. Commands and properties: AMD UG835 (Vivado Tcl), UG1118 (IP
packager), UG1701 (user-managed RTL kernels).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

#: Address of the byte port in the PYNQ-Z2's memory, and the size of its window.
BASE, SIZE = 0x43C0_0000, 0x1000

#: Registers of axil_bytes.sv that the packed kernel describes.
REGISTERS: Mapping[str, int] = {"IDENT": 0x10, "STATUS": 0x14, "BYTE": 0x18, "WORD": 0x1C, "FLAGS": 0x20}

#: Modules: the top of the VC709, the block design's byte port, the kernel.
TOP, PORT, KERNEL = "vc709_top", "gatewarp_port", "gatewarp_kernel"

_HERE = """\
set here [file dirname [file normalize [info script]]]
cd $here
"""


def _list(name: str, files: Iterable[str]) -> str:
    """A Tcl list in a variable, one file a line."""
    return "\n".join([f"set {name} {{", *(f"  {file}" for file in files), "}"]) + "\n"


def _sources(sources: Iterable[str], memories: Iterable[str]) -> str:
    """Tcl that adds SystemVerilog and Verilog, and the files that they read by name."""
    text = _list("sources", sources) + _list("memories", memories)
    return (
        text
        + """\
foreach file [concat $sources $memories] {
  if {![file isfile $file]} { error "no file $file in $here; generate the project again" }
}
add_files -norecurse $sources
if {[llength $memories]} {
  add_files -norecurse $memories
  set_property file_type {Memory Initialization Files} [get_files $memories]
}
"""
    )


def reports(clock: str) -> str:
    """`reports.tcl`: timing, resources and power of the routed design to reports/, and the name of the design's clock.

    `clock` is that clock's name; "" in a platform, where the kernel's clock is found by its pin.
    """
    if clock:
        found = f"set clock {clock}\nset scope {{}}\n"
    else:
        found = f"""\
set kernel [get_cells -hierarchical -filter {{ORIG_REF_NAME == {KERNEL} || REF_NAME == {KERNEL}}}]
set pin [get_pins -of_objects $kernel -filter {{REF_PIN_NAME == ap_clk}}]
set clock [get_property NAME [lindex [get_clocks -of_objects $pin] 0]]
set scope [list -cells $kernel]
"""
    return f"""\
# Reports of the routed design. Sourced, so that `info script` is this file.
set reports [file join [file dirname [file normalize [info script]]] reports]
file mkdir $reports
{found}report_timing_summary -delay_type min_max -max_paths 10 -file [file join $reports timing.rpt]
report_utilization {{*}}$scope -file [file join $reports utilisation.rpt]
report_power -file [file join $reports power.rpt]
set stream [open [file join $reports clock.txt] w]
puts $stream $clock
close $stream
"""


def vc709(part: str, sources: Iterable[str], memories: Iterable[str], constraints: str) -> str:
    """`build.tcl` of the VC709: no project on disk, one run from sources to bitstream."""
    return f"""\
# vivado -mode batch -source build.tcl
{_HERE}create_project -in_memory -part {part}
{_sources(sources, memories)}read_xdc {constraints}
synth_design -top {TOP} -part {part}
opt_design
place_design
phys_opt_design
route_design
source reports.tcl
report_drc -file reports/drc.rpt
write_bitstream -force gatewarp.bit
"""


def pynq(
    part: str, board_part: str, mhz: float, sources: Iterable[str], memories: Iterable[str], constraints: str
) -> str:
    """`build.tcl` of the PYNQ-Z2: a block design of the processing system and the byte port, then the usual runs."""
    return f"""\
# vivado -mode batch -source build.tcl
{_HERE}create_project -force gatewarp vivado -part {part}
# The board's preset is taken where Vivado has it; PYNQ loads only the logic, so the design works without.
set preset [llength [get_board_parts -quiet {board_part}]]
if {{$preset}} {{ set_property board_part {board_part} [current_project] }}
{_sources(sources, memories)}add_files -fileset constrs_1 -norecurse {constraints}
update_compile_order -fileset sources_1

create_bd_design system
set ps [create_bd_cell -type ip -vlnv xilinx.com:ip:processing_system7 ps]
apply_bd_automation -rule xilinx.com:bd_rule:processing_system7 \\
    -config [list make_external {{FIXED_IO, DDR}} apply_board_preset $preset Master Disable Slave Disable] $ps
set_property -dict {{
  CONFIG.PCW_CRYSTAL_PERIPHERAL_FREQMHZ 50.000000
  CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ {mhz:.6f}
  CONFIG.PCW_EN_CLK0_PORT 1
  CONFIG.PCW_EN_RST0_PORT 1
  CONFIG.PCW_USE_M_AXI_GP0 1
}} $ps
set actual [get_property CONFIG.PCW_ACT_FPGA0_PERIPHERAL_FREQMHZ $ps]
if {{abs($actual / {mhz:.6f} - 1) > 0.001}} {{
  error "FCLK_CLK0 is $actual MHz, the design is for {mhz:.6f}: generate the project for that clock"
}}

create_bd_cell -type module -reference {PORT} bytes
apply_bd_automation -rule xilinx.com:bd_rule:axi4 \\
    -config {{
      Master /ps/M_AXI_GP0 Slave /bytes/s_axi Clk_master Auto Clk_slave Auto Clk_xbar Auto intc_ip Auto master_apm 0
    }} [get_bd_intf_pins bytes/s_axi]
create_bd_port -dir O -from 3 -to 0 led
connect_bd_net [get_bd_ports led] [get_bd_pins bytes/led]
set space [get_bd_addr_spaces ps/Data]
assign_bd_address -force -offset 0x{BASE:08X} -range 0x{SIZE:X} \\
    -target_address_space $space [get_bd_addr_segs bytes/s_axi/reg0]
validate_bd_design
save_bd_design
set wrapper [make_wrapper -files [get_files system.bd] -top]
add_files -norecurse $wrapper
set_property top system_wrapper [current_fileset]
update_compile_order -fileset sources_1

launch_runs impl_1 -to_step write_bitstream -jobs 4
wait_on_runs impl_1
if {{[get_property PROGRESS [get_runs impl_1]] ne "100%"}} {{
  error "implementation ended with [get_property STATUS [get_runs impl_1]]; see the logs under vivado/gatewarp.runs"
}}
open_run impl_1
source reports.tcl
# PYNQ wants the hardware description beside the bitstream, under the same name.
file copy -force [file join [get_property DIRECTORY [get_runs impl_1]] system_wrapper.bit] gatewarp.bit
set descriptions [concat [glob -nocomplain vivado/gatewarp.gen/sources_1/bd/system/hw_handoff/system.hwh] \\
    [glob -nocomplain vivado/gatewarp.srcs/sources_1/bd/system/hw_handoff/system.hwh]]
if {{![llength $descriptions]}} {{ error "Vivado wrote no system.hwh" }}
file copy -force [lindex $descriptions 0] gatewarp.hwh
"""


def kernel(part: str, sources: Iterable[str], memories: Iterable[str]) -> str:
    """`package_kernel.tcl` of an Alveo card: packs the RTL as a user-managed kernel into gatewarp.xo."""
    registers = "".join(f"  {name} 0x{offset:03X}\n" for name, offset in REGISTERS.items())
    return f"""\
# vivado -mode batch -source package_kernel.tcl
{_HERE}file delete -force pack packed gatewarp.xo
create_project -force pack pack -part {part}
{_sources(sources, memories)}set_property top {KERNEL} [current_fileset]
update_compile_order -fileset sources_1

ipx::package_project -root_dir packed -vendor gatewarp -library kernel -taxonomy /KernelIP -import_files \\
    -set_current true
set core [ipx::current_core]
foreach parameter [ipx::get_user_parameters -of_objects $core] {{
  ipx::remove_user_parameter [get_property NAME $parameter] $core
}}
ipx::associate_bus_interfaces -busif s_axi_control -clock ap_clk $core
ipx::associate_bus_interfaces -clock ap_clk -reset ap_rst_n $core

set map [ipx::add_memory_map -quiet s_axi_control $core]
set block [ipx::add_address_block -quiet reg0 $map]
foreach {{name offset}} {{
{registers}}} {{
  set register [ipx::add_register $name $block]
  set_property address_offset $offset $register
  set_property size 32 $register
}}
set_property slave_memory_map_ref s_axi_control [ipx::get_bus_interfaces s_axi_control -of_objects $core]

set_property sdx_kernel true $core
set_property sdx_kernel_type rtl $core
set_property vitis_drc {{ctrl_protocol user_managed}} $core
set_property ipi_drc {{ignore_freq_hz true}} $core
set_property supported_families {{}} $core
set_property auto_family_support_level level_2 $core
ipx::create_xgui_files $core
ipx::update_checksums $core
ipx::check_integrity -kernel $core
ipx::save_core $core
close_project
package_xo -force -xo_path gatewarp.xo -kernel_name {KERNEL} -ip_directory packed -ctrl_protocol user_managed
"""


def program() -> str:
    """`program.tcl` of the VC709: loads gatewarp.bit into the only board on the JTAG cable; nothing is flashed."""
    return f"""\
# vivado -mode batch -source program.tcl
{_HERE}open_hw_manager
connect_hw_server
open_hw_target
set devices [get_hw_devices xc7vx690t*]
if {{[llength $devices] != 1}} {{ error "[llength $devices] XC7VX690T on the cable, not one: [get_hw_devices]" }}
set_property PROGRAM.FILE gatewarp.bit $devices
program_hw_devices $devices
close_hw_manager
"""
