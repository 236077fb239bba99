// Runs the whole top level of a board with its gigabit PHY, compiled by Verilator, on a network of two: the board, and a
// host that is whoever talks to a UDP socket on 127.0.0.1.
//
//   simulator --line FD --counters FD --lifeline FD --awake-ms MILLISECONDS [--damage P] [--foreign P] [--seed N]
//
// A datagram to the socket --line becomes a whole Ethernet frame (MAC addresses found by ARP, IPv4, UDP from the sender's
// port to BOARD_PORT, padding, FCS), which goes into the RGMII pins; --counters does the same for BOARD_PORT + 1. What
// the pins send is taken apart again: preamble, length, FCS, header checksum and gap are checked as a PHY and a network
// card do, and the payload goes to the port it is for. --damage is the chance a frame that one bit of it flips on the
// cable, in each direction; --foreign the chance that a frame of someone else goes before it.
//
// Two clocks run: the board's oscillator, whose cycle is one of `clk` since the PLL's stand-in passes it, and the PHY's
// 125 MHz, in the ratio that they have. Signals, the lifeline and how it idles are as in simulated/main.cpp, and so is
// what is printed.

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <deque>
#include <fcntl.h>
#include <netinet/in.h>
#include <random>
#include <sys/socket.h>
#include <vector>

#include "Vtop.h"
#include "pins.h"  // CLOCK_HZ, ETHERNET_HZ, PIN_CLOCK, BOARD_IP, HOST_IP, BOARD_PORT, QUIET_PINS
#include "process.h"
#include "verilated.h"

namespace {

constexpr int SLICE = 4000;      // edges between looks at the clock and the sockets
constexpr int NAP_MS = 20;
constexpr size_t QUEUE = 4096;   // frames for the board; more are lost, as in a switch
constexpr int GAP = 12;          // byte times between frames
constexpr int64_t ASK_AGAIN = ETHERNET_HZ / 1000;
constexpr uint64_t HOST_MAC = 0x020000000001;

using Bytes = std::vector<uint8_t>;

uint32_t crc32(const uint8_t* data, size_t size) {
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; ++i) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

// Ones' complement sum of 16-bit words.
uint16_t checksum(const uint8_t* data, size_t size) {
    uint32_t sum = 0;
    for (size_t i = 0; i < size; i += 2) sum += data[i] << 8 | (i + 1 < size ? data[i + 1] : 0);
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return uint16_t(~sum);
}

uint64_t value(const Bytes& frame, size_t at, int size) {
    uint64_t found = 0;
    for (int i = 0; i < size; ++i) found = found << 8 | frame[at + i];
    return found;
}

void put(Bytes& frame, uint64_t value, int size) {
    for (int i = size - 1; i >= 0; --i) frame.push_back(uint8_t(value >> 8 * i));
}

// A frame on its way into the pins: preamble, content, padding, FCS.
Bytes on_the_wire(Bytes content) {
    if (content.size() < 60) content.resize(60);
    uint32_t fcs = crc32(content.data(), content.size());
    for (int i = 0; i < 4; ++i) content.push_back(uint8_t(fcs >> 8 * i));
    Bytes whole(7, 0x55);
    whole.push_back(0xd5);
    whole.insert(whole.end(), content.begin(), content.end());
    return whole;
}

Bytes header(uint64_t to, uint16_t type) {
    Bytes frame;
    put(frame, to, 6);
    put(frame, HOST_MAC, 6);
    put(frame, type, 2);
    return frame;
}

Bytes ip_header(uint64_t to, uint8_t protocol, size_t size, uint32_t to_ip) {
    Bytes frame = header(to, 0x0800);
    put(frame, 0x4500, 2);
    put(frame, 20 + size, 2);
    put(frame, 0x12344000, 4);
    put(frame, 64 << 8 | protocol, 2);
    put(frame, 0, 2);
    put(frame, HOST_IP, 4);
    put(frame, to_ip, 4);
    uint16_t sum = checksum(frame.data() + 14, 20);
    frame[24] = uint8_t(sum >> 8);
    frame[25] = uint8_t(sum);
    return frame;
}

Bytes datagram(uint64_t to, uint16_t from_port, uint16_t to_port, const Bytes& payload, uint32_t to_ip = BOARD_IP) {
    Bytes frame = ip_header(to, 17, 8 + payload.size(), to_ip);
    put(frame, from_port, 2);
    put(frame, to_port, 2);
    put(frame, 8 + payload.size(), 2);
    put(frame, 0, 2);
    frame.insert(frame.end(), payload.begin(), payload.end());
    return frame;
}

Bytes question(uint32_t ip) {
    Bytes frame = header(0xffffffffffff, 0x0806);
    put(frame, 0x0001080006040001, 8);
    put(frame, HOST_MAC, 6);
    put(frame, HOST_IP, 4);
    put(frame, 0, 6);
    put(frame, ip, 4);
    return frame;
}

struct Board {
    VerilatedContext context;
    Vtop top{&context};
    int line, counters, lifeline;
    double damage, foreign;
    std::mt19937_64 random;

    int64_t clock_at = CLOCK_HZ, ethernet_at = CLOCK_HZ / 3;  // of the next edges, in periods of both frequencies
    bool clock_high = false, ethernet_high = false;
    uint64_t cycles = 0, bytes_in = 0, bytes_out = 0, dropped = 0, malformed = 0;
    uint64_t frames_in = 0, frames_out = 0, damaged_in = 0, damaged_out = 0, foreign_in = 0, answers = 0;

    // To the board.
    struct Waiting {
        uint16_t from_port, to_port;
        Bytes payload;
    };
    std::deque<Waiting> unaddressed;  // until ARP has answered
    std::deque<Bytes> queue;
    Bytes sending;
    size_t sent = 0;
    int gap = 0;
    uint64_t board_mac = 0;
    int64_t ask_in = 0;

    // From the board.
    Bytes arriving;
    bool receiving = false, early = false;
    int silence = GAP;
    uint8_t low = 0, low_ctl = 0;

    Board(int argc, char** argv)
        : line(number(argc, argv, "--line")),
          counters(number(argc, argv, "--counters")),
          lifeline(number(argc, argv, "--lifeline")),
          damage(std::atof(option(argc, argv, "--damage", "0"))),
          foreign(std::atof(option(argc, argv, "--foreign", "0"))),
          random(std::strtoull(option(argc, argv, "--seed", "1"), nullptr, 10)) {
        for (int file : {line, counters}) fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK);
        QUIET_PINS;
        PIN_CLOCK = 0;
        top.rgmii_rx_clk = 0;
        top.rgmii_rx_ctl = 0;
        top.rgmii_rxd = 0;
        top.eval();
    }

    bool chance(double p) { return p > 0 && std::uniform_real_distribution<>(0, 1)(random) < p; }

    void flip(Bytes& frame, size_t from) {
        size_t bit = std::uniform_int_distribution<size_t>(8 * from, 8 * frame.size() - 1)(random);
        frame[bit / 8] ^= 1 << bit % 8;
    }

    // The next edge of either clock.
    void edge() {
        if (clock_at <= ethernet_at) {
            ethernet_at -= clock_at;
            clock_at = ETHERNET_HZ;
            clock_high = !clock_high;
            cycles += clock_high;
            PIN_CLOCK = clock_high;
            top.eval();
            return;
        }
        clock_at -= ethernet_at;
        ethernet_at = CLOCK_HZ;
        ethernet_high = !ethernet_high;
        if (ethernet_high) next_byte();
        bool valid = sent < sending.size();
        top.rgmii_rx_ctl = valid;
        top.rgmii_rxd = valid ? (ethernet_high ? sending[sent] & 15 : sending[sent] >> 4) : 0xd * ethernet_high;
        top.rgmii_rx_clk = ethernet_high;
        top.eval();
        if (ethernet_high) {
            low = top.rgmii_txd;
            low_ctl = top.rgmii_tx_ctl;
            early = top.rgmii_tx_clk;
            return;
        }
        if (valid) ++sent;
        arrive(uint8_t(low | top.rgmii_txd << 4), low_ctl, low_ctl != top.rgmii_tx_ctl || !early || top.rgmii_tx_clk);
    }

    // What the PHY sends to the board in this cycle.
    void next_byte() {
        if (ask_in > 0) --ask_in;
        if (sent < sending.size()) return;
        if (!sending.empty()) {
            sending.clear();
            sent = 0;
            gap = GAP;
        }
        if (gap > 0) {
            --gap;
            return;
        }
        if (queue.empty() || !top.phy_rst_n) return;
        sending = std::move(queue.front());
        queue.pop_front();
        sent = 0;
        ++frames_in;
    }

    void arrive(uint8_t byte, bool valid, bool broken) {
        if (valid) {
            if (!receiving) {
                receiving = true;
                malformed += silence < GAP;
                arriving.clear();
            }
            arriving.push_back(byte);
            malformed += broken;
            return;
        }
        malformed += broken;
        ++silence;
        if (!receiving) return;
        receiving = false;
        silence = 1;
        ++frames_out;
        if (chance(damage)) {
            flip(arriving, 8);
            ++damaged_out;
            return;  // the network card drops it
        }
        static const Bytes start{0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xd5};
        if (arriving.size() < 8 + 64 || arriving.size() > 8 + 1518 || !std::equal(start.begin(), start.end(), arriving.begin())) {
            ++malformed;
            return;
        }
        arriving.erase(arriving.begin(), arriving.begin() + 8);
        uint32_t fcs = 0;
        for (int i = 0; i < 4; ++i) fcs |= uint32_t(arriving[arriving.size() - 4 + i]) << 8 * i;
        arriving.resize(arriving.size() - 4);
        if (fcs != crc32(arriving.data(), arriving.size())) {
            ++malformed;
            return;
        }
        take(arriving);
    }

    // A good frame of the board.
    void take(const Bytes& frame) {
        uint16_t type = uint16_t(value(frame, 12, 2));
        if (value(frame, 0, 6) != HOST_MAC) {
            ++malformed;
        } else if (type == 0x0806 && value(frame, 14, 8) == 0x0001080006040002 && value(frame, 28, 4) == BOARD_IP &&
                   value(frame, 32, 6) == HOST_MAC && value(frame, 38, 4) == HOST_IP) {
            board_mac = value(frame, 22, 6);
            ++answers;
            for (auto& each : unaddressed) offer(datagram(board_mac, each.from_port, each.to_port, each.payload));
            unaddressed.clear();
        } else if (type == 0x0800 && frame[14] == 0x45 && checksum(frame.data() + 14, 20) == 0 && frame[23] == 17 &&
                   value(frame, 26, 4) == BOARD_IP && value(frame, 30, 4) == HOST_IP &&
                   value(frame, 16, 2) == value(frame, 38, 2) + 20 && value(frame, 16, 2) + 14 <= frame.size()) {
            size_t size = value(frame, 38, 2) - 8;
            sockaddr_in to{};
            to.sin_family = AF_INET;
            to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            to.sin_port = htons(uint16_t(value(frame, 36, 2)));
            int socket = value(frame, 34, 2) == BOARD_PORT ? line : counters;
            if (sendto(socket, frame.data() + 42, size, 0, reinterpret_cast<sockaddr*>(&to), sizeof to) < 0) ++dropped;
            bytes_out += size;
        } else {
            ++malformed;
        }
    }

    // A frame for the board; noise on the cable, and what others send, come in here.
    void offer(Bytes content) {
        if (queue.size() >= QUEUE) {
            ++dropped;
            return;
        }
        if (chance(foreign)) queue.push_back(of_others());
        Bytes frame = on_the_wire(std::move(content));
        if (chance(damage)) {
            flip(frame, 8);
            ++damaged_in;
        }
        queue.push_back(std::move(frame));
    }

    // A frame that the board must not take: for another address, another kind, another length, cut off.
    Bytes of_others() {
        ++foreign_in;
        Bytes text(100, 'x'), long_text(2000, 'y');
        switch (random() % 9) {
            case 0: return on_the_wire(question(BOARD_IP + 7));
            case 1: return on_the_wire(datagram(0x0200deadbeef, 1, BOARD_PORT, text));
            case 2: return on_the_wire(datagram(board_mac, 1, BOARD_PORT + 2, text));
            case 3: return on_the_wire(datagram(board_mac, 1, BOARD_PORT, text, BOARD_IP + 1));
            case 4: return on_the_wire(datagram(board_mac, 1, BOARD_PORT, long_text));
            case 5: {
                Bytes frame = header(0x333300000001, 0x86dd);  // IPv6
                frame.resize(80, 0x60);
                return on_the_wire(frame);
            }
            case 6: {
                Bytes frame = on_the_wire(datagram(board_mac, 1, BOARD_PORT, text));
                frame.resize(30);  // a runt
                return frame;
            }
            case 7: {
                Bytes frame = datagram(board_mac, 1, BOARD_PORT, text);
                frame[20] = 0x20;  // a fragment, whose header checksum is right
                frame[24] = frame[25] = 0;
                uint16_t sum = checksum(frame.data() + 14, 20);
                frame[24] = uint8_t(sum >> 8);
                frame[25] = uint8_t(sum);
                return on_the_wire(frame);
            }
            default: {
                Bytes frame = datagram(board_mac, 1, BOARD_PORT, text);
                frame[24] ^= 1;  // a wrong header checksum
                return on_the_wire(frame);
            }
        }
    }

    bool busy() const { return sent < sending.size() || receiving || !queue.empty() || !unaddressed.empty(); }

    // Moves datagrams between the sockets and the queues; true when there was any.
    bool exchange() {
        bool moved = false;
        uint8_t buffer[2048];
        for (int socket : {line, counters}) {
            while (queue.size() < QUEUE) {
                sockaddr_in from{};
                socklen_t size = sizeof from;
                ssize_t n = recvfrom(socket, buffer, sizeof buffer, 0, reinterpret_cast<sockaddr*>(&from), &size);
                if (n < 0) break;
                moved = true;
                uint16_t from_port = ntohs(from.sin_port), to_port = BOARD_PORT + (socket == counters);
                bytes_in += size_t(n);
                Bytes payload(buffer, buffer + n);
                if (board_mac) offer(datagram(board_mac, from_port, to_port, payload));
                else if (unaddressed.size() < QUEUE) unaddressed.push_back({from_port, to_port, payload});
            }
        }
        if (!unaddressed.empty() && ask_in == 0 && queue.empty()) {
            queue.push_back(on_the_wire(question(BOARD_IP)));
            ask_in = ASK_AGAIN;
        }
        return moved;
    }

    // Without a clock nobody listens to what the cable brings.
    void lose() {
        exchange();
        queue.clear();
        unaddressed.clear();
        nap(0);
    }

    // Whether the parent still lives.
    bool attended() { return is_quiet(lifeline); }

    void nap(double spent) {
        pollfd waiting[3] = {{line, POLLIN, 0}, {counters, POLLIN, 0}, {lifeline, POLLIN, 0}};
        poll(waiting, 3, std::max(NAP_MS, int(spent * 9e3)));
    }
};

}  // namespace

int main(int argc, char** argv) {
    listen_to_signals();
    enter_own_folder();
    const double awake = number(argc, argv, "--awake-ms") / 1e3;
    Board board(argc, argv);
    std::puts("running");
    std::fflush(stdout);
    const auto start = Clock::now();
    auto active = start;
    double napped = 0;
    while (!stopped && !board.context.gotFinish() && board.attended()) {
        const auto before = Clock::now();
        if (frozen) {
            board.lose();
            napped += seconds(Clock::now() - before);
            continue;
        }
        for (int i = 0; i < SLICE; ++i) board.edge();
        const auto after = Clock::now();
        if (board.exchange() || board.busy()) active = after;
        if (seconds(after - active) > awake) {
            board.nap(seconds(after - before));
            napped += seconds(Clock::now() - after);
        }
    }
    board.top.final();
    std::printf("{\"cycles\": %llu, \"seconds\": %.3f, \"napped\": %.3f, \"cpu\": %.3f, ",
                (unsigned long long)board.cycles, seconds(Clock::now() - start), napped,
                double(std::clock()) / CLOCKS_PER_SEC);
    std::printf("\"bytes_in\": %llu, \"bytes_out\": %llu, \"dropped\": %llu, \"malformed\": %llu, ",
                (unsigned long long)board.bytes_in, (unsigned long long)board.bytes_out,
                (unsigned long long)board.dropped, (unsigned long long)board.malformed);
    std::printf("\"frames_in\": %llu, \"frames_out\": %llu, \"damaged_in\": %llu, \"damaged_out\": %llu, ",
                (unsigned long long)board.frames_in, (unsigned long long)board.frames_out,
                (unsigned long long)board.damaged_in, (unsigned long long)board.damaged_out);
    std::printf("\"foreign_in\": %llu, \"answers\": %llu}\n", (unsigned long long)board.foreign_in,
                (unsigned long long)board.answers);
    return 0;
}
