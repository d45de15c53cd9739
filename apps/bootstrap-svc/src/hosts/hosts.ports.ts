import type { Machine } from '@fairlead/contracts';

/** Hosts are reached by the shell that all services share; specs bring one of their own. */
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

/** The host keys that the machine and its jump host have to show, as they are accepted now; absent: the ones that its provider reported count. */
export interface MachineHostKeys {
  of(machine: Machine): Promise<{ readonly host?: string; readonly jump?: string }>;
}

/** Of machines whose provider vouches for their keys. */
export const PROVIDERS_KEYS: MachineHostKeys = { of: async () => ({}) };
