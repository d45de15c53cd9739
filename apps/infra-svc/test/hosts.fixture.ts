import { ExternalFailure } from '@fairlead/contracts';
import { FREE_HOST } from '../../../libs/node-scripts/src/steps/look.fixtures.js';
import type { HostShell } from '@fairlead/service-kit/ssh';

const SEEN = { hostKey: 'SHA256:x', jumpHostKey: null, attempts: 1 } as const;

/** Hosts with these remains of another cluster; null: they do not respond. */
export const hostsThatSay = (leftovers: readonly string[] | null): Pick<HostShell, 'open'> => ({
  open: async ({ name }) => {
    if (leftovers === null)
      throw new ExternalFailure({ operation: 'open SSH', target: name, message: 'no route to host' });
    const none = '0'.repeat(32);
    const baseline = { sshKeys: none, sshServer: none, accounts: none, jobs: none, units: none, runtime: none };
    const facts = { ...FREE_HOST, leftovers };
    const result = JSON.stringify({ cpus: 2, memoryMiB: 4_096, facts, baseline });
    return {
      ...SEEN,
      run: async () => ({ stdout: `FAIRLEAD-RESULT ${result}\n`, stderr: '' }),
      exists: async () => false,
      upload: async () => undefined,
      release: () => undefined,
    };
  },
});
