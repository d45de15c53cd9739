export { fingerprintOf } from './ssh/host.key.js';
export { isKeyRefused, isOfJumpHost } from './ssh/ssh.connection.js';
export { NodeSshShell, type PoolLimits } from './ssh/node-ssh.shell.js';
export type {
  HostAddress,
  HostFile,
  HostScript,
  HostSession,
  HostShell,
  FailedTry,
  OpenOptions,
  ScriptOutput,
  SshHop,
} from './ssh/ssh.ports.js';
