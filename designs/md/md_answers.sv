// The engine's answers on one stream, each a packet.
//   DUMP    a beat with the number of particles, then a beat for each, in the order of their addresses
//   STATUS  a beat, from bit 0 up: flags 8, workers 8, steps 32, cycles of force phases 48, cycles of RUN 48, particles 32,
//           lost 32; then one for each worker: pairs 48, candidates 48, stalled cycles 48
// A particle's beat is that of md_load.
`default_nettype none

module md_answers #(
    // Bits of a beat.
    parameter int BEAT = 216,
    parameter int WORKERS = 4,
    // Bits of a counter of a worker.
    parameter int COUNTER = 40,
    // Cycles from an address of the walk to its particle.
    parameter int LATENCY = 7,
    // Bits of a particle.
    parameter int PARTICLE = 216
) (
    input wire clk,
    input wire rst,

    input wire start_dump,
    input wire start_status,
    input wire dumping,
    input wire reporting,
    output wire dump_busy,
    output wire status_busy,

    input wire walk_valid,
    output wire walk_ready,
    input wire [PARTICLE-1:0] particle,
    input wire [31:0] particles,
    input wire [207:0] engine,
    input wire [WORKERS*COUNTER-1:0] pairs,
    input wire [WORKERS*COUNTER-1:0] candidates,
    input wire [WORKERS*COUNTER-1:0] stalled,

    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [BEAT-1:0] m_axis_tdata,
    output wire m_axis_tlast
);
  wire dump_valid, dump_last, status_valid, status_last;
  wire [BEAT-1:0] dump_data, status_data;

  md_dump #(
      .BEAT(BEAT),
      .LATENCY(LATENCY)
  ) u_dump (
      .clk(clk),
      .rst(rst),
      .start(start_dump),
      .particles(particles),
      .busy(dump_busy),
      .walk_valid(walk_valid && dumping),
      .walk_ready(walk_ready),
      .beat(BEAT'(particle)),
      .m_axis_tvalid(dump_valid),
      .m_axis_tready(m_axis_tready && dumping),
      .m_axis_tdata(dump_data),
      .m_axis_tlast(dump_last)
  );

  md_status #(
      .BEAT(BEAT),
      .WORKERS(WORKERS),
      .COUNTER(COUNTER)
  ) u_status (
      .clk(clk),
      .rst(rst),
      .start(start_status),
      .busy(status_busy),
      .engine(BEAT'(engine)),
      .pairs(pairs),
      .candidates(candidates),
      .stalled(stalled),
      .m_axis_tvalid(status_valid),
      .m_axis_tready(m_axis_tready && reporting),
      .m_axis_tdata(status_data),
      .m_axis_tlast(status_last)
  );

  assign m_axis_tvalid = dumping ? dump_valid : reporting && status_valid;
  assign m_axis_tdata = dumping ? dump_data : status_data;
  assign m_axis_tlast = dumping ? dump_last : status_last;
endmodule

`default_nettype wire
