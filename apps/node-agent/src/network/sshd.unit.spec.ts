import { NETWORK_PATHS } from '@fairlead/contracts';
import { goldenBeside } from '@fairlead/testing/golden';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryHost } from '../../test/memory.host.js';
import type { CommandResult } from '../node/host.ports.js';
import { Reverted } from './network.ports.js';
import { sshdConfig, SshdPart } from './sshd.part.js';

const golden = goldenBeside(import.meta.url);
const HARDENED = { hardening: true, tcpForwarding: false } as const;
const ok = (stdout = ''): CommandResult => ({ code: 0, stdout, stderr: '' });

describe('the SSH server of a host', () => {
  let host: MemoryHost;
  let part: SshdPart;
  /** The calls of sshd and systemctl. */
  let asked: string[];
  let answer: (line: string) => CommandResult | undefined;

  beforeEach(() => {
    host = new MemoryHost();
    asked = [];
    answer = (line) =>
      line === 'sshd -T'
        ? ok('passwordauthentication no\nkbdinteractiveauthentication no\npermitemptypasswords no\n')
        : ok();
    host.fault = (line) => {
      asked.push(line);
      return answer(line);
    };
    const remove = (path: string): Promise<void> => Promise.resolve(void host.files.delete(path));
    part = new SshdPart({ host, files: { remove } });
  });

  it('accepts only keys, and forwards nothing or only what Fairlead needs [ORBITER 24]', () => {
    golden('sshd.conf', sshdConfig(HARDENED));
    expect(sshdConfig({ ...HARDENED, tcpForwarding: true })).toContain('AllowTcpForwarding local');
  });

  it('is reloaded only if it accepts the configuration, and never restarted', async () => {
    await part.apply({ sshd: HARDENED });
    expect(host.files.get(NETWORK_PATHS.sshd)).toBe(sshdConfig(HARDENED));
    expect(asked).toEqual(['sshd -t', 'sshd -T', 'systemctl cat ssh', 'systemctl reload ssh']);
  });

  it('is not changed by a second run [ORBITER 24]', async () => {
    await part.apply({ sshd: HARDENED });
    asked.length = 0;
    await part.apply({ sshd: HARDENED });
    expect(asked).toEqual([]);
  });

  it('keeps its configuration if it rejects the change', async () => {
    answer = (line) => (line === 'sshd -t' ? { code: 255, stdout: '', stderr: 'Bad SSH2 cipher spec' } : ok());
    await expect(part.apply({ sshd: HARDENED })).rejects.toThrow(Reverted);
    await expect(part.apply({ sshd: HARDENED })).rejects.toThrow('Bad SSH2 cipher spec');
    expect(host.files.has(NETWORK_PATHS.sshd)).toBe(false);
  });

  it('keeps its configuration if another file overrides the change', async () => {
    answer = (line) => (line === 'sshd -T' ? ok('passwordauthentication yes\n') : ok());
    await expect(part.apply({ sshd: HARDENED })).rejects.toThrow('passwordauthentication is yes, desired no');
    expect(host.files.has(NETWORK_PATHS.sshd)).toBe(false);
  });

  it('returns to its former configuration when no longer declared', async () => {
    await part.apply({ sshd: HARDENED });
    await part.apply({});
    expect(host.files.has(NETWORK_PATHS.sshd)).toBe(false);
    expect(asked.at(-1)).toBe('systemctl reload ssh');
  });
});
