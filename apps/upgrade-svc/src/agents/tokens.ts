export const AGENT_CHANNEL = Symbol('upgrade-svc.agent-channel');
