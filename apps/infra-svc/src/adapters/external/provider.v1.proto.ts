/** Generated from docs/provider.v1.proto. */
export const PROVIDER_PROTO = `// A provider of machines for Fairlead that runs as its own process: docs/provider-protocol.md says what each call promises.
// Fields are only ever added. What cannot be added without breaking a provider becomes fairlead.provider.v2.
syntax = "proto3";

package fairlead.provider.v1;

service Provider {
  // It answers, and the credentials are good.
  rpc Verify(Request) returns (Capabilities);
  rpc ListSpecs(Request) returns (Specs);
  // \`found\` is false where there is no such region, which is no failure.
  rpc ResolveRegion(NameRequest) returns (Region);
  rpc ResolveImage(Request) returns (Image);

  // These leave what exists as it is, and answer with it.
  rpc EnsureNetwork(NetworkRequest) returns (Network);
  rpc EnsureFirewall(FirewallRequest) returns (Firewall);
  rpc EnsureSshKey(SshKeyRequest) returns (SshKey);
  rpc DeleteSshKey(NameRequest) returns (Empty);

  // Makes what is missing of the machines, and sends each once, as it runs or has failed.
  rpc EnsureMachines(MachinesRequest) returns (stream Machine);
  rpc DescribeMachines(GroupRequest) returns (stream Machine);
  // Every machine of the connection. An end without an error says that the list is complete.
  rpc ListMachines(Request) returns (stream Machine);
  rpc DeleteMachine(NameRequest) returns (Empty);
  // The machines of this incarnation (uid); a late EnsureMachines for it fails with FAILED_PRECONDITION.
  rpc DeleteGroup(GroupRequest) returns (Empty);

  rpc EnsureLoadBalancer(LoadBalancerRequest) returns (LoadBalancer);
  rpc DeleteLoadBalancer(NameRequest) returns (Empty);
}

message Empty {}

// The connection that a call is for. A provider keeps nothing of it between calls.
message Connection {
  string name = 1;
  string region = 2;
  string zone = 3;
  // The setting \`options\` of the connection, as JSON.
  string options = 4;
  // Empty: the connection has none. Never to be logged or repeated.
  string secret = 5;
}

message Request {
  Connection connection = 1;
}

// \`name\` is an ID for DeleteMachine.
message NameRequest {
  Connection connection = 1;
  string name = 2;
}

message Capabilities {
  bool nlb = 1;
  // The machines are a simulation, and are called so wherever they show.
  bool simulated = 2;
}

message Spec {
  string name = 1;
  int32 cpu_count = 2;
  double memory_gib = 3;
  // 0: not known.
  double cpu_clock_ghz = 4;
}

message Specs {
  repeated Spec specs = 1;
}

message Region {
  bool found = 1;
  string name = 2;
  repeated string zones = 3;
}

message Image {
  string name = 1;
  string os = 2;
}

message Network {
  string name = 1;
  string subnet = 2;
  string cidr = 3;
}

message NetworkRequest {
  Connection connection = 1;
  Network network = 2;
}

message FirewallRule {
  // tcp, udp or icmp.
  string protocol = 1;
  // 0: without ports.
  int32 from_port = 2;
  int32 to_port = 3;
  string source = 4;
}

message Firewall {
  string name = 1;
  repeated FirewallRule rules = 2;
}

message FirewallRequest {
  Connection connection = 1;
  Firewall firewall = 2;
}

message SshKey {
  string name = 1;
  string public_key = 2;
}

message SshKeyRequest {
  Connection connection = 1;
  SshKey ssh_key = 2;
}

// The machines of one cluster on one connection. \`name\` is default.demo.site, for example; \`uid\` is that of the incarnation.
message Group {
  string name = 1;
  string namespace = 2;
  string cluster = 3;
  string uid = 4;
}

message GroupRequest {
  Connection connection = 1;
  Group group = 2;
}

message DesiredMachine {
  string name = 1;
  string spec = 2;
  // Empty: the provider chooses.
  string zone = 3;
  string root_disk_type = 4;
  string root_disk_size = 5;
  map<string, string> labels = 6;
  // Empty: the image of the request.
  string image = 7;
}

message MachinesRequest {
  Connection connection = 1;
  Group group = 2;
  string image = 3;
  string network = 4;
  string firewall = 5;
  string ssh_key = 6;
  repeated DesiredMachine machines = 7;
}

message Ssh {
  string host = 1;
  int32 port = 2;
  string user = 3;
  // SHA256:<base64>; empty: not known.
  string host_key = 4;
}

message Machine {
  string id = 1;
  string name = 2;
  string uid = 3;
  string group = 4;
  // creating, running, stopped or failed.
  string status = 5;
  // Of a failed one: why, in the provider's words.
  string message = 6;
  string public_ip = 7;
  string private_ip = 8;
  string region = 9;
  string zone = 10;
  Ssh ssh = 11;
  // The name of the key that it was created with.
  string ssh_key = 12;
  string spec = 13;
  string image = 14;
}

message LoadBalancerRequest {
  Connection connection = 1;
  Group group = 2;
  string name = 3;
  // haproxy or nlb.
  string kind = 4;
  int32 target_port = 5;
  string health_path = 6;
  // IDs of machines.
  repeated string targets = 7;
}

message LoadBalancer {
  string name = 1;
  string host = 2;
  int32 port = 3;
  // provider, control-planes or elsewhere: who balances.
  string placement = 4;
}
`;
