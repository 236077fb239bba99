// The terms of the force law for one pair, each looked up in a table of its own, weighted for the kinds of the pair where
// there are COEFS, and added: K, which times the difference of positions is the force.
//
// COEFS: KINDS * KINDS words (kind here * KINDS + kind there) of TERMS coefficients of 18 bits, signed, term 0 lowest;
// 2^17 is one, and each product is cut down to a whole number before the sum. Without COEFS the terms are added as they
// are. k comes after six cycles, with COEFS after ten, and is a sum without a register behind it: md_product begins with one.
`default_nettype none

module md_terms #(
    // Terms, 1 to 3.
    parameter int TERMS = 2,
    // Kinds of particles, 1 or 2.
    parameter int KINDS = 1,
    // Words of a table, and its bits as in md_table.
    parameter int WORDS = 1024,
    parameter int D = 14,
    parameter int VALUE = 32,
    parameter int SLOPE = 27,
    // Memory images; those of terms that are not there are not read.
    parameter TABLE_0 = "",
    parameter TABLE_1 = "",
    parameter TABLE_2 = "",
    parameter COEFS = "",
    // As in md_multiply.
    parameter bit ECP5 = 0,
    // Derived.
    parameter int ADDRESS = $clog2(WORDS),
    parameter int K = VALUE + $clog2(TERMS)
) (
    input wire clk,
    input wire [ADDRESS-1:0] address,
    input wire [D-1:0] delta,
    // Kind here, kind there.
    input wire [1:0] kinds,
    // Six cycles later, with COEFS ten.
    output logic signed [K-1:0] k
);
  if (TERMS < 1 || TERMS > 3) begin : g_terms
    $error("md_terms: TERMS must be 1 to 3");
  end
  if (KINDS < 1 || KINDS > 2) begin : g_kinds
    $error("md_terms: KINDS must be 1 or 2");
  end
  if (K > 35) begin : g_wide
    $error("md_terms: VALUE and the bits for the number of terms must be at most 35 together");
  end
  if (KINDS > 1 && COEFS == "") begin : g_coefs_missing
    $error("md_terms: two kinds need COEFS");
  end

  wire [TERMS*VALUE-1:0] values, weighted;

  md_table #(
      .WORDS(WORDS),
      .D(D),
      .VALUE(VALUE),
      .SLOPE(SLOPE),
      .FILE(TABLE_0),
      .ECP5(ECP5)
  ) u_table_0 (
      .clk(clk),
      .address(address),
      .delta(delta),
      .value(values[0+:VALUE])
  );

  if (TERMS > 1) begin : g_table_1
    md_table #(
        .WORDS(WORDS),
        .D(D),
        .VALUE(VALUE),
        .SLOPE(SLOPE),
        .FILE(TABLE_1),
        .ECP5(ECP5)
    ) u_table (
        .clk(clk),
        .address(address),
        .delta(delta),
        .value(values[VALUE+:VALUE])
    );
  end

  if (TERMS > 2) begin : g_table_2
    md_table #(
        .WORDS(WORDS),
        .D(D),
        .VALUE(VALUE),
        .SLOPE(SLOPE),
        .FILE(TABLE_2),
        .ECP5(ECP5)
    ) u_table (
        .clk(clk),
        .address(address),
        .delta(delta),
        .value(values[2*VALUE+:VALUE])
    );
  end

  if (COEFS == "") begin : g_plain
    assign weighted = values;
    wire unused = &{1'b0, kinds};
  end else begin : g_weighted
    logic [TERMS*18-1:0] coefs[KINDS*KINDS];
    logic [TERMS*18-1:0] coef;
    wire [1:0] late_kinds;
    initial $readmemh(COEFS, coefs);

    delay #(
        .WIDTH (2),
        .STAGES(5)
    ) u_kinds (
        .clk(clk),
        .in (kinds),
        .out(late_kinds)
    );

    if (KINDS == 1) begin : g_one
      always_ff @(posedge clk) coef <= coefs[0];
      wire unused = &{1'b0, late_kinds};
    end else begin : g_two
      always_ff @(posedge clk) coef <= coefs[late_kinds];
    end

    for (genvar t = 0; t < TERMS; t++) begin : g_term
      wire signed [VALUE+17:0] product;
      md_product #(
          .A(VALUE),
          .B(18),
          .ECP5(ECP5)
      ) u_product (
          .clk(clk),
          .a(values[t*VALUE+:VALUE]),
          .b(coef[t*18+:18]),
          .product(product)
      );
      // A coefficient is at most one, so the top bit is a copy of the one below.
      assign weighted[t*VALUE+:VALUE] = product[17+:VALUE];
      wire unused = &{1'b0, product[16:0], product[VALUE+17]};
    end
  end

  always_comb begin
    k = '0;
    for (int t = 0; t < TERMS; t++) k = k + K'(signed'(weighted[t*VALUE+:VALUE]));
  end
endmodule

`default_nettype wire
