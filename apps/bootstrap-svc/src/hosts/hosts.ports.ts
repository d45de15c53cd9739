/** Hosts are reached by the shell that all services share; specs bring one of their own. */
export type {
  HostAddress,
  HostFile,
  HostScript,
  HostSession,
  HostShell,
  OpenOptions,
  ScriptOutput,
  SshHop,
} from '@fairlead/service-kit/ssh';
