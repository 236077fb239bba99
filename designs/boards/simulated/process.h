// What the main programs of simulated boards share: signals, options, and the parent that they must not outlive.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <string>
#include <unistd.h>

namespace {

volatile std::sig_atomic_t stopped = 0;
volatile std::sig_atomic_t frozen = 0;

void on_signal(int signal) {
    if (signal == SIGUSR1 || signal == SIGUSR2) frozen = signal == SIGUSR1;
    else stopped = 1;
}

void listen_to_signals() {
    struct sigaction action {};
    action.sa_handler = on_signal;
    for (int number : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2}) sigaction(number, &action, nullptr);
    signal(SIGPIPE, SIG_IGN);
}

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

const char* option(int argc, char** argv, const char* name, const char* otherwise) {
    for (int i = 1; i + 1 < argc; ++i)
        if (!std::strcmp(argv[i], name)) return argv[i + 1];
    return otherwise;
}

int number(int argc, char** argv, const char* name) {
    if (const char* found = option(argc, argv, name, nullptr)) return std::atoi(found);
    std::fprintf(stderr, "simulator: %s is missing\n", name);
    std::exit(2);
}

// Nothing to read and not at its end.
bool is_quiet(int file) {
    pollfd waiting{file, POLLIN, 0};
    return poll(&waiting, 1, 0) == 0;
}

// Memory images are named relative to the program.
void enter_own_folder() {
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) return;
    std::string folder(path, size_t(n));
    if (chdir(folder.substr(0, folder.rfind('/')).c_str())) std::perror("simulator: chdir");
}

}  // namespace
