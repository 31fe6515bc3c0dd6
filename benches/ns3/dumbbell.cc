// The benchmark scenario for ns-3: N bulk TCP flows over one bottleneck.
//
// Sender and receiver share one point-to-point link whose device queue is the drop-tail
// buffer. There are no access links and no queue disc: each would add events per packet, so
// this is the cheapest form of the scenario for ns-3. Prints one JSON line on stdout.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5000;
constexpr uint32_t SEGMENT_BYTES = 1448; // payload of a 1500-byte packet with timestamps
constexpr uint32_t PACKET_BYTES = 1500;
constexpr uint32_t NO_LIMIT_PACKETS = 1u << 30; // the return path never drops
constexpr uint64_t RETURN_RATE_BPS = 1'000'000'000'000;

struct Scenario
{
    uint64_t rate_bps = 50'000'000;
    uint64_t delay_ns = 40'000'000; // one way
    uint32_t queue_packets = 333;
    uint32_t flows = 3;
    std::string scheme = "cubic";
    double loss = 0.0;
    uint64_t duration_ns = 10'000'000'000;
    uint64_t start_jitter_ns = 100'000'000;
    uint32_t seed = 1;
};

struct Counters
{
    uint64_t forwarded = 0; // left the bottleneck device, including those lost on the wire
    uint64_t dropped = 0;   // refused by the full queue
};

Scenario
ParseArguments(int argc, char* argv[])
{
    Scenario s;
    CommandLine cmd;
    cmd.AddValue("rate_bps", "bottleneck rate, bit/s", s.rate_bps);
    cmd.AddValue("delay_ns", "one-way propagation delay, ns", s.delay_ns);
    cmd.AddValue("queue_packets", "drop-tail queue, packets", s.queue_packets);
    cmd.AddValue("flows", "number of flows", s.flows);
    cmd.AddValue("scheme", "cubic or bbr", s.scheme);
    cmd.AddValue("loss", "random loss behind the queue, 0..1", s.loss);
    cmd.AddValue("duration_ns", "simulated time, ns", s.duration_ns);
    cmd.AddValue("start_jitter_ns", "flow starts are uniform in [0, this], ns", s.start_jitter_ns);
    cmd.AddValue("seed", "seed of the random streams, > 0", s.seed);
    cmd.Parse(argc, argv);
    return s;
}

std::string
SocketType(const std::string& scheme)
{
    if (scheme == "cubic")
    {
        return "ns3::TcpCubic";
    }
    if (scheme == "bbr")
    {
        return "ns3::TcpBbr";
    }
    std::cerr << "dumbbell: unknown scheme '" << scheme << "', known are cubic and bbr\n";
    std::exit(2);
}

// TCP as a current Linux has it, as far as ns-3 offers it.
void
ConfigureTcp(const Scenario& s)
{
    const double round_trip_bytes = 2.0 * s.delay_ns * 1e-9 * s.rate_bps / 8.0;
    const double most_in_flight = round_trip_bytes + double(s.queue_packets) * PACKET_BYTES;
    const auto buffer = uint32_t(std::ceil(2.0 * most_in_flight)) + 100 * PACKET_BYTES;

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(SocketType(s.scheme)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT_BYTES));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
}

NetDeviceContainer
BuildLink(const Scenario& s, const NodeContainer& ends)
{
    PointToPointHelper link;
    link.DisableFlowControl(); // else packets wait or drop above the device queue
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(s.rate_bps)));
    link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(s.delay_ns)));
    NetDeviceContainer devices = link.Install(ends);

    auto forward = DynamicCast<PointToPointNetDevice>(devices.Get(0));
    auto reverse = DynamicCast<PointToPointNetDevice>(devices.Get(1));
    forward->GetQueue()->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, s.queue_packets));
    reverse->GetQueue()->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, NO_LIMIT_PACKETS));
    reverse->SetDataRate(DataRate(RETURN_RATE_BPS));
    if (s.loss > 0.0)
    {
        auto errors = CreateObject<RateErrorModel>();
        errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        errors->SetRate(s.loss);
        reverse->SetReceiveErrorModel(errors);
    }
    return devices;
}

void
InstallFlows(const Scenario& s, const NodeContainer& ends, const Ipv4Address& receiver)
{
    PacketSinkHelper sink("ns3::TcpSocketFactory",
                          InetSocketAddress(Ipv4Address::GetAny(), PORT));
    sink.Install(ends.Get(1)).Start(Seconds(0));

    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(receiver, PORT));
    bulk.SetAttribute("SendSize", UintegerValue(SEGMENT_BYTES));
    auto start = CreateObject<UniformRandomVariable>();
    for (uint32_t flow = 0; flow < s.flows; ++flow)
    {
        const double start_ns = start->GetValue(0.0, double(s.start_jitter_ns));
        bulk.Install(ends.Get(0)).Start(NanoSeconds(uint64_t(start_ns)));
    }
}

void
Count(uint64_t* counter, Ptr<const Packet>)
{
    ++*counter;
}

} // namespace

int
main(int argc, char* argv[])
{
    const Scenario s = ParseArguments(argc, argv);
    RngSeedManager::SetSeed(s.seed);
    ConfigureTcp(s);

    NodeContainer ends;
    ends.Create(2);
    const NetDeviceContainer devices = BuildLink(s, ends);
    InternetStackHelper().Install(ends);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    const Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    InstallFlows(s, ends, interfaces.GetAddress(1));

    Counters counters;
    auto bottleneck = DynamicCast<PointToPointNetDevice>(devices.Get(0));
    bottleneck->TraceConnectWithoutContext("PhyTxEnd",
                                           MakeBoundCallback(&Count, &counters.forwarded));
    bottleneck->GetQueue()->TraceConnectWithoutContext(
        "Drop", MakeBoundCallback(&Count, &counters.dropped));

    Simulator::Stop(NanoSeconds(s.duration_ns));
    Simulator::Run();
    std::cout << "{\"bottleneck_packets\": " << counters.forwarded
              << ", \"dropped_packets\": " << counters.dropped
              << ", \"simulated_s\": " << Simulator::Now().GetSeconds()
              << ", \"events\": " << Simulator::GetEventCount() << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
