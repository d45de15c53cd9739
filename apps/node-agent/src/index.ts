export { startAgent, type AgentOptions, type RunningAgent } from './agent.js';
export type { AgentClock, AgentLog, CommandOptions, CommandResult, HostPort, LogLevel } from './node/host.ports.js';
export { realHost } from './adapters/host/real.host.js';
export { realFiles } from './adapters/files/real.files.js';
export type { FileStat, HostFiles } from './files/files.ports.js';
