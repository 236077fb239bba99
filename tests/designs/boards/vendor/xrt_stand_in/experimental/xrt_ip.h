// Stands in for XRT: the registers of axil_bytes.sv with both streams joined, so that each byte comes back inverted.
// It ends the program when a byte is written without room or read without being there, which the bridge must never do.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>

#include "xrt/xrt_device.h"

namespace xrt {
class ip {
  std::deque<unsigned char> bytes;
  static constexpr std::size_t DEPTH = 512;

  void put(std::uint32_t byte) {
    if (bytes.size() >= DEPTH) die("written without room");
    bytes.push_back(static_cast<unsigned char>(~byte));
  }
  std::uint32_t get() {
    if (bytes.empty()) die("read without being there");
    const std::uint32_t byte = bytes.front();
    bytes.pop_front();
    return byte;
  }
  [[noreturn]] static void die(const char *what) {
    std::fprintf(stderr, "a byte was %s\n", what);
    std::abort();
  }

 public:
  ip(device &, uuid, const std::string &name) {
    if (name != "gatewarp_kernel") throw std::runtime_error("no IP '" + name + "'");
  }
  std::uint32_t read_register(std::uint32_t offset) {
    if (offset == 0x10) return std::getenv("GATEWARP_NO_PORT") ? 0 : 0x42595445;
    if (offset == 0x14) return static_cast<std::uint32_t>(DEPTH - bytes.size()) << 16 | static_cast<std::uint32_t>(bytes.size());
    if (offset == 0x18) return get();
    if (offset != 0x1c) die("read at a strange address");
    std::uint32_t word = 0;
    for (int i = 0; i < 4; i++) word |= get() << 8 * i;
    return word;
  }
  void write_register(std::uint32_t offset, std::uint32_t value) {
    if (offset == 0x18) return put(value & 0xff);
    if (offset != 0x1c) die("written at a strange address");
    for (int i = 0; i < 4; i++) put(value >> 8 * i & 0xff);
  }
};
}  // namespace xrt
