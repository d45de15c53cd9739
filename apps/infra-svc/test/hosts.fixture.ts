import { WorldFailure } from '@fairlead/contracts';
import type { HostShell } from '@fairlead/service-kit/ssh';

const SEEN = { hostKey: 'SHA256:x', jumpHostKey: null, attempts: 1 } as const;

/** Hosts that answer a look with these problems; null: they do not answer at all. */
export const hostsThatSay = (problems: readonly string[] | null): Pick<HostShell, 'open'> => ({
  open: async ({ name }) => {
    if (problems === null) throw new WorldFailure({ operation: 'open SSH', target: name, message: 'no route to host' });
    const none = '0'.repeat(32);
    const baseline = { sshKeys: none, sshServer: none, accounts: none, jobs: none, units: none, runtime: none };
    const result = JSON.stringify({ cpus: 2, memoryMiB: 4_096, problems, baseline });
    return {
      ...SEEN,
      run: async () => ({ stdout: `FAIRLEAD-RESULT ${result}\n`, stderr: '' }),
      exists: async () => false,
      upload: async () => undefined,
      release: () => undefined,
    };
  },
});
