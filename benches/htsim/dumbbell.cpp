// A dumbbell in htsim: NewReno flows through one drop-tail queue, with independent losses behind it. Prints one JSON line
// with the simulated time and the packets that left the queue.
//
//     dumbbell RATE_BPS DELAY_NS QUEUE_PACKETS LOSS FLOWS START_JITTER_NS SEED DURATION_NS

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

namespace {

constexpr int kPacketBytes = 1500;
constexpr simtime_picosec kPicosPerNano = 1000;

// The wire behind the queue: counts, and loses some.
class Wire : public Pipe {
 public:
  Wire(simtime_picosec delay, EventList& events, double loss, std::mt19937_64& random)
      : Pipe(delay, events), loss_(loss), random_(random) {}

  void receivePacket(Packet& packet) override {
    ++packets_;
    if (loss_ > 0 && chance_(random_) < loss_) {
      packet.free();
      return;
    }
    Pipe::receivePacket(packet);
  }

  uint64_t packets() const { return packets_; }

 private:
  uint64_t packets_ = 0;
  double loss_;
  std::mt19937_64& random_;
  std::uniform_real_distribution<double> chance_{0, 1};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 9) {
    std::cerr << "dumbbell RATE_BPS DELAY_NS QUEUE_PACKETS LOSS FLOWS START_JITTER_NS SEED DURATION_NS\n";
    return 2;
  }
  const linkspeed_bps rate = std::strtoull(argv[1], nullptr, 10);
  const simtime_picosec delay = std::strtoull(argv[2], nullptr, 10) * kPicosPerNano;
  const int queue_packets = std::atoi(argv[3]);
  const double loss = std::atof(argv[4]);
  const int flows = std::atoi(argv[5]);
  const simtime_picosec jitter = std::strtoull(argv[6], nullptr, 10) * kPicosPerNano;
  std::mt19937_64 random(std::strtoull(argv[7], nullptr, 10));
  const simtime_picosec duration = std::strtoull(argv[8], nullptr, 10) * kPicosPerNano;

  Packet::set_packet_size(kPacketBytes);
  EventList events;
  events.setEndtime(duration);
  Queue queue(rate, memFromPkt(queue_packets), events, nullptr);
  Wire wire(delay, events, loss, random);
  Pipe way_back(delay, events);
  TcpRtxTimerScanner timers(timeFromMs(10), events);
  for (int flow = 0; flow < flows; ++flow) {
    // They live as long as the program.
    auto* source = new TcpSrc(nullptr, nullptr, events);
    auto* sink = new TcpSink();
    source->set_ssthresh(UINT32_MAX);
    timers.registerTcp(*source);
    auto* forward = new route_t();
    for (PacketSink* place : {static_cast<PacketSink*>(&queue), static_cast<PacketSink*>(&wire), static_cast<PacketSink*>(sink)}) {
      forward->push_back(place);
    }
    auto* backward = new route_t();
    backward->push_back(&way_back);
    backward->push_back(source);
    source->connect(*forward, *backward, *sink, jitter > 0 ? random() % jitter : 0);
  }
  while (events.doNextEvent()) {
  }
  std::cout << "{\"bottleneck_packets\":" << wire.packets() << ",\"simulated_s\":" << duration / 1e12 << "}\n";
}
