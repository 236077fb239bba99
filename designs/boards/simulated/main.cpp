// Runs the whole top level of a board, compiled by Verilator, with its serial pins behind a pseudo-terminal.
//
//   simulator --terminal FD --lifeline FD --awake-ms MILLISECONDS
//
// FD of --terminal is the controlling side of a pseudo-terminal in raw mode, FD of --lifeline the reading end of a pipe
// whose other end only the parent holds: when the parent dies, by whatever means, it reads end of file and we end.
// SIGUSR1 stops the clock and SIGUSR2 lets it run again. SIGTERM ends it as well, cleanly: status 0. Standard output
// has the line "running" once signals are answered, and at the end one line of JSON, which says what was simulated.
//
// Pins: the clock toggles once a cycle; a byte from the terminal is sent as a start bit, eight data bits, lowest first,
// and a stop bit, each CLOCKS_PER_BIT cycles; a byte from the design is sampled in the middle of each bit. There is no
// flow control, as on the cable: bytes wait in the terminal's own queue while the line is busy, and what the host does
// not take is dropped beyond QUEUE bytes.
//
// Idle: cycles run at full speed while a byte is on the line in either direction and for the `awake` time after the
// last one, so a design that computes in silence is not held up. After that the process naps: it runs SLICE cycles, then
// sleeps nine times as long as they took, at least NAP_MS, or until the host sends a byte. So a forgotten board costs at
// most a tenth of a core, and cycles still go on.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <deque>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "Vtop.h"
#include "pins.h"  // CLOCKS_PER_BIT, PIN_CLOCK, PIN_TO_FPGA, PIN_FROM_FPGA, QUIET_PINS
#include "process.h"
#include "verilated.h"

namespace {

constexpr int SLICE = 2000;        // cycles between looks at the clock and the terminal
constexpr int NAP_MS = 20;
constexpr size_t QUEUE = 1 << 20;  // bytes for a host that does not read

// The host's transmitter: one byte after the other onto the pin.
struct Sender {
    uint32_t frame = 0;  // bits still to send, lowest first
    int bits = 0, countdown = 0;

    bool busy() const { return bits > 0; }

    void load(uint8_t byte) {
        frame = (1u << 9) | (uint32_t(byte) << 1);
        bits = 10;
        countdown = CLOCKS_PER_BIT;
    }

    uint8_t pin() const { return bits ? frame & 1 : 1; }

    void step() {
        if (bits && --countdown == 0) {
            frame >>= 1;
            --bits;
            countdown = CLOCKS_PER_BIT;
        }
    }
};

// The host's receiver: waits for a start bit, samples the middle of each bit; a bad stop bit drops the byte.
struct Receiver {
    int bit = -1, countdown = 0;
    uint8_t byte = 0;
    uint64_t malformed = 0;
    bool idle = false;  // the line was high: a line held low is no start bit over and over

    bool busy() const { return bit >= 0; }

    bool step(uint8_t pin) {
        if (bit < 0) {
            if (pin) idle = true;
            else if (idle) {
                bit = 0;
                countdown = CLOCKS_PER_BIT / 2;
            }
            return false;
        }
        if (countdown-- > 0) return false;
        countdown = CLOCKS_PER_BIT - 1;
        if (bit == 0) {  // middle of the start bit
            bit = pin ? -1 : 1;
            return false;
        }
        if (bit <= 8) {
            byte = uint8_t(byte >> 1 | pin << 7);
            ++bit;
            return false;
        }
        bit = -1;
        idle = pin;
        malformed += !pin;
        return pin;
    }
};

struct Board {
    VerilatedContext context;
    Vtop top{&context};
    Sender sender;
    Receiver receiver;
    std::deque<uint8_t> to_host;
    uint8_t incoming[4096];
    size_t have = 0, taken = 0;
    int terminal, lifeline;
    bool connected = true;
    uint64_t cycles = 0, bytes_in = 0, bytes_out = 0, dropped = 0;

    Board(int terminal_fd, int lifeline_fd) : terminal(terminal_fd), lifeline(lifeline_fd) {
        fcntl(terminal, F_SETFL, fcntl(terminal, F_GETFL) | O_NONBLOCK);
        PIN_TO_FPGA = 1;
        QUIET_PINS;
        PIN_CLOCK = 0;
        top.eval();
    }

    void cycle() {
        if (!sender.busy() && taken < have) {
            sender.load(incoming[taken++]);
            ++bytes_in;
        }
        PIN_TO_FPGA = sender.pin();
        PIN_CLOCK = 1;
        top.eval();
        PIN_CLOCK = 0;
        top.eval();
        ++cycles;
        sender.step();
        if (receiver.step(PIN_FROM_FPGA)) {
            ++bytes_out;
            if (to_host.size() < QUEUE) to_host.push_back(receiver.byte);
            else ++dropped;
        }
    }

    bool busy() const { return sender.busy() || receiver.busy() || taken < have; }

    // Moves bytes between the terminal and the queues; true when there was any.
    bool exchange() {
        bool moved = false;
        while (connected && !to_host.empty()) {
            uint8_t chunk[1024];
            size_t n = std::min(to_host.size(), sizeof chunk);
            std::copy_n(to_host.begin(), n, chunk);
            ssize_t written = write(terminal, chunk, n);
            if (written < 0) {
                connected = errno == EAGAIN || errno == EINTR;
                break;
            }
            to_host.erase(to_host.begin(), to_host.begin() + written);
            moved = true;
        }
        if (connected && taken == have) {
            ssize_t n = read(terminal, incoming, sizeof incoming);
            if (n > 0) {
                have = size_t(n);
                taken = 0;
                moved = true;
            } else {
                have = taken = 0;
                if (n == 0 || (errno != EAGAIN && errno != EINTR)) connected = false;  // unplugged
            }
        }
        return moved;
    }

    // Without a clock nobody listens to what the cable brings.
    void lose() {
        exchange();
        taken = have;
        nap(0);
    }

    // Whether the parent still lives.
    bool attended() { return is_quiet(lifeline); }

    void nap(double spent) {
        pollfd waiting[2] = {{connected ? terminal : -1, POLLIN, 0}, {lifeline, POLLIN, 0}};
        poll(waiting, 2, std::max(NAP_MS, int(spent * 9e3)));
    }
};

}  // namespace

int main(int argc, char** argv) {
    listen_to_signals();
    enter_own_folder();
    const double awake = number(argc, argv, "--awake-ms") / 1e3;
    Board board(number(argc, argv, "--terminal"), number(argc, argv, "--lifeline"));
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
        for (int i = 0; i < SLICE; ++i) board.cycle();
        const auto after = Clock::now();
        if (board.exchange() || board.busy()) active = after;
        if (seconds(after - active) > awake) {
            board.nap(seconds(after - before));
            napped += seconds(Clock::now() - after);
        }
    }
    board.exchange();
    board.top.final();
    std::printf("{\"cycles\": %llu, \"seconds\": %.3f, \"napped\": %.3f, \"cpu\": %.3f, ",
                (unsigned long long)board.cycles, seconds(Clock::now() - start), napped,
                double(std::clock()) / CLOCKS_PER_SEC);
    std::printf("\"bytes_in\": %llu, \"bytes_out\": %llu, \"dropped\": %llu, \"malformed\": %llu}\n",
                (unsigned long long)board.bytes_in, (unsigned long long)board.bytes_out,
                (unsigned long long)board.dropped, (unsigned long long)board.receiver.malformed);
    return 0;
}
