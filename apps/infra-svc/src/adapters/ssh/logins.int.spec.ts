import type { ConnectionName, OwnHost, SecretRef } from '@fairlead/contracts';
import { NO_HOST_KEYS } from '@fairlead/domain';
import { problemsOfHost } from '@fairlead/node-scripts';
import { NodeSshShell } from '@fairlead/service-kit/ssh';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { itWith } from '@fairlead/testing/programs';
import { mayMount, OpenSsh, type LoginOptions } from './openssh.fixtures.js';
import { OwnHosts } from './own.hosts.js';

const HOUR_MS = 3_600_000;
const QUICK = {
  look: { triesMax: 1, deadlineMs: 10_000 },
  reset: { triesMax: 1, deadlineMs: 10_000 },
  boot: { triesMax: 1, deadlineMs: 10_000 },
  resetsMax: 1,
  freshForMs: 1,
};

/** The reasons are those that the list of hosts shows. */
describe('the login of a host, with real OpenSSH', () => {
  const itLogsIn = mayMount() ? itWith('sshd', 'unshare') : it.skip;
  let shell: NodeSshShell;
  let server: OpenSsh | undefined;

  beforeEach(() => {
    shell = new NodeSshShell({ idleMs: 1_000, connectionsMax: 10 });
  });
  afterEach(async () => {
    await shell.close();
    await server?.stop();
    server = undefined;
  });

  /** Why such a host cannot become a node; empty: it can. */
  const problemsWith = async (options: LoginOptions, aheadMs = 0): Promise<string> => {
    server = await OpenSsh.start(options);
    const { port, privateKey } = server;
    const hosts = new OwnHosts(
      { connection: 'site' as ConnectionName, keyRef: 'gateway.connection.site' as SecretRef },
      {
        shell,
        keys: async () => privateKey,
        trust: { hostKeys: async () => NO_HOST_KEYS },
        stock: { pin: async ({ hostKey }) => hostKey },
        now: () => Date.now() + aheadMs,
      },
      QUICK,
    );
    const host = { name: 'rack-1', address: '127.0.0.1', port, user: 'root' } as OwnHost;
    const found = await hosts.look(host, AbortSignal.timeout(30_000));
    if (found.kind === 'silent') return found.words;
    // This machine may have no systemd, cgroup v1, and little free space.
    const relevant = problemsOfHost(found.look.facts, { address: null, lookedAt: found.lookedAt });
    return relevant.filter((problem) => !/systemd|cgroup v1|MiB free|% full/.test(problem)).join('; ');
  };

  itLogsIn('is no obstacle where it is as it is installed', async () => {
    expect(await problemsWith({})).toBe('');
  });

  itLogsIn('needs a server for files', async () => {
    expect(await problemsWith({ config: [] })).toMatch(
      /^file transfer \(SFTP\) does not work: .*Subsystem sftp internal-sftp/,
    );
  });

  itLogsIn('needs a shell', async () => {
    expect(await problemsWith({ shell: '/usr/sbin/nologin' })).toMatch(/its user has no shell: usermod -s/);
  });

  itLogsIn('needs a shell that does more than succeed', async () => {
    expect(await problemsWith({ shell: '/bin/true' })).toMatch(
      /^the login does not run commands .*; it printed: nothing$/,
    );
  });

  itLogsIn('runs no commands where its key has one that is forced', async () => {
    const keyOptions = 'command="echo this key opens a menu only"';
    expect(await problemsWith({ keyOptions })).toMatch(
      /^the login does not run commands \(a forced command.*\); it printed: this key opens a menu only$/,
    );
  });

  itLogsIn('needs two sessions at a time', async () => {
    expect(await problemsWith({ config: ['Subsystem sftp internal-sftp', 'MaxSessions 1'] })).toMatch(
      /MaxSessions of its SSH server must be 2 or more/,
    );
  });

  itLogsIn('may print whatever it likes before commands run', async () => {
    expect(await problemsWith({ home: { '.bashrc': 'echo Welcome to rack-1; echo FAIRLEAD-RESULT {}\n' } })).toBe('');
  });

  itLogsIn('must print nothing where a program of its own transfers files', async () => {
    const config = ['Subsystem sftp /usr/lib/openssh/sftp-server'];
    expect(await problemsWith({ config, home: { '.bashrc': 'echo Welcome to rack-1\n' } })).toMatch(
      /^file transfer \(SFTP\) does not work: .*files like \.bashrc must print nothing without a terminal/,
    );
  });

  for (const program of ['tcsh', 'fish', 'zsh']) {
    const itRuns = mayMount() ? itWith('sshd', 'unshare', program) : it.skip;
    itRuns(`may have another shell: ${program}`, async () => {
      expect(await problemsWith({ shell: `/usr/bin/${program}` })).toBe('');
    });
  }

  itLogsIn('has folders in which programs run', async () => {
    expect(await problemsWith({ mounts: { opt: 'noexec', 'var/lib': 'rw', tmp: 'noexec' } })).toBe(
      '/opt is mounted noexec, and programs of a node run there: mount it with exec',
    );
  });

  itLogsIn.each([
    ['behind', 36],
    ['ahead of', -48],
  ])('has a clock that agrees with that of Fairlead, and is not %s it', async (side, hours) => {
    const words = `its clock is ${Math.abs(hours)} h ${side} the clock of Fairlead: `;
    expect(await problemsWith({}, hours * HOUR_MS)).toContain(words);
  });
});
