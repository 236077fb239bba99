// Serves the byte port of a Gatewarp kernel on an Alveo card over TCP on this machine. Needs XRT.
//   xrt_bridge gatewarp.xclbin [--device 0] [--port 2000]
// Loads the xclbin, checks that the byte port is there, and carries bytes between one client at a time and the kernel.
// It knows nothing of what the bytes mean. It listens on 127.0.0.1 alone.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "xrt/xrt_device.h"
#if __has_include("xrt/experimental/xrt_ip.h")
#include "xrt/experimental/xrt_ip.h"
#else
#include "experimental/xrt_ip.h"  // XRT before it moved
#endif

namespace {

constexpr const char *KERNEL = "gatewarp_kernel";
// Registers of axil_bytes.sv.
constexpr std::uint32_t IDENT = 0x10, STATUS = 0x14, BYTE = 0x18, WORD = 0x1c, MAGIC = 0x42595445;
// Bytes that wait for room in the design before no more are taken from the client.
constexpr std::size_t PENDING = 4096;

// Writes what there is room for out of `out` and erases it there; appends what is there to be read to `in`.
bool move(xrt::ip &ip, std::string &out, std::string &in) {
  const std::uint32_t status = ip.read_register(STATUS);
  const std::size_t there = status & 0xffff, count = std::min<std::size_t>(status >> 16, out.size());
  std::size_t at = 0;
  for (; at + 4 <= count; at += 4) {
    std::uint32_t word = 0;
    for (int i = 3; i >= 0; i--) word = word << 8 | static_cast<unsigned char>(out[at + i]);
    ip.write_register(WORD, word);
  }
  for (; at < count; at++) ip.write_register(BYTE, static_cast<unsigned char>(out[at]));
  out.erase(0, count);
  for (at = 0; at + 4 <= there; at += 4) {
    const std::uint32_t word = ip.read_register(WORD);
    for (int i = 0; i < 4; i++) in.push_back(static_cast<char>(word >> 8 * i & 0xff));
  }
  for (; at < there; at++) in.push_back(static_cast<char>(ip.read_register(BYTE) & 0xff));
  return count || there;
}

// Carries bytes until the client closes. Bytes that nobody waits for are dropped first.
void serve(xrt::ip &ip, int client) {
  std::string to_board, to_client;
  while (move(ip, to_board, to_client)) to_client.clear();
  char buffer[PENDING];
  while (true) {
    bool moved = false;
    if (to_board.size() < PENDING) {
      const ssize_t got = recv(client, buffer, sizeof buffer, MSG_DONTWAIT);
      if (got == 0) return;
      if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return;
      if (got > 0) {
        to_board.append(buffer, static_cast<std::size_t>(got));
        moved = true;
      }
    }
    moved |= move(ip, to_board, to_client);
    if (!to_client.empty()) {
      const ssize_t sent = send(client, to_client.data(), to_client.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return;
      if (sent > 0) to_client.erase(0, static_cast<std::size_t>(sent));
    }
    if (!moved) {
      pollfd wait{client, POLLIN, 0};
      poll(&wait, 1, 1);
    }
  }
}

// Asks the system to find out that the client is gone, within 25 s; else one that vanished would hold its place.
void keep_alive(int client) {
  const auto set = [client](int level, int option, int value) { setsockopt(client, level, option, &value, sizeof value); };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 25000);  // ms; keepalive waits while bytes wait
}

int listen_on(int port) {
  const int server = socket(AF_INET, SOCK_STREAM, 0);
  const int yes = 1;
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (server < 0 || bind(server, reinterpret_cast<sockaddr *>(&address), sizeof address) || listen(server, 1))
    throw std::runtime_error("port " + std::to_string(port) + ": " + std::strerror(errno) + "; choose another with --port");
  socklen_t length = sizeof address;
  getsockname(server, reinterpret_cast<sockaddr *>(&address), &length);
  std::printf("byte port at 127.0.0.1:%d\n", ntohs(address.sin_port));
  std::fflush(stdout);
  return server;
}

int run(int argc, char **argv) {
  std::string xclbin;
  int index = 0, port = 2000;
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    if ((word == "--device" || word == "--port") && i + 1 < argc) {
      (word == "--device" ? index : port) = std::stoi(argv[++i]);
    } else if (xclbin.empty() && word[0] != '-') {
      xclbin = word;
    } else {
      throw std::runtime_error("usage: xrt_bridge gatewarp.xclbin [--device 0] [--port 2000], not " + word);
    }
  }
  if (xclbin.empty()) throw std::runtime_error("usage: xrt_bridge gatewarp.xclbin [--device 0] [--port 2000]");
  xrt::device device(static_cast<unsigned>(index));
  const auto uuid = device.load_xclbin(xclbin);
  xrt::ip ip(device, uuid, KERNEL);
  const std::uint32_t found = ip.read_register(IDENT);
  if (found != MAGIC) {
    char said[96];
    std::snprintf(said, sizeof said, "no byte port in this kernel: it reads 0x%08x, not 0x%08x", found, MAGIC);
    throw std::runtime_error(said);
  }
  const int server = listen_on(port);
  while (true) {
    const int client = accept(server, nullptr, nullptr);
    if (client < 0) continue;
    keep_alive(client);
    serve(ip, client);
    close(client);
  }
}

}  // namespace

int main(int argc, char **argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "ERROR: %s\n", error.what());
    return 1;
  }
}
