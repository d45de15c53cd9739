import type { Machine } from '@fairlead/contracts';

/** Hosts are reached with the shell shared by all services; specs replace it. */
export type {
  FailedTry,
  HostAddress,
  HostFile,
  HostScript,
  HostSession,
  HostShell,
  OpenOptions,
  ScriptOutput,
  SshHop,
} from '@fairlead/service-kit/ssh';

/** The currently accepted host keys of the machine and its jump host; absent: those reported by its provider apply. */
export interface MachineHostKeys {
  of(machine: Machine): Promise<{ readonly host?: string; readonly jump?: string }>;
}

/** For machines whose provider reports their keys. */
export const PROVIDERS_KEYS: MachineHostKeys = { of: async () => ({}) };
