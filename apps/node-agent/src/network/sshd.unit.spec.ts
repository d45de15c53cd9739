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
  /** What is asked of sshd and of systemd. */
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

  it('takes keys alone, and forwards nothing, or only what Fairlead needs [ORBITER 24]', () => {
    golden('sshd.conf', sshdConfig(HARDENED));
    expect(sshdConfig({ ...HARDENED, tcpForwarding: true })).toContain('AllowTcpForwarding local');
  });

  it('is asked whether it accepts the change before it is reloaded, and never restarted', async () => {
    await part.apply({ sshd: HARDENED });
    expect(host.files.get(NETWORK_PATHS.sshd)).toBe(sshdConfig(HARDENED));
    expect(asked).toEqual(['sshd -t', 'sshd -T', 'systemctl cat ssh', 'systemctl reload ssh']);
  });

  it('is left alone the second time [ORBITER 24]', async () => {
    await part.apply({ sshd: HARDENED });
    asked.length = 0;
    await part.apply({ sshd: HARDENED });
    expect(asked).toEqual([]);
  });

  it('keeps what it had when it refuses the change', async () => {
    answer = (line) => (line === 'sshd -t' ? { code: 255, stdout: '', stderr: 'Bad SSH2 cipher spec' } : ok());
    await expect(part.apply({ sshd: HARDENED })).rejects.toThrow(Reverted);
    await expect(part.apply({ sshd: HARDENED })).rejects.toThrow('Bad SSH2 cipher spec');
    expect(host.files.has(NETWORK_PATHS.sshd)).toBe(false);
  });

  it('keeps what it had when another file says something else', async () => {
    answer = (line) => (line === 'sshd -T' ? ok('passwordauthentication yes\n') : ok());
    await expect(part.apply({ sshd: HARDENED })).rejects.toThrow('passwordauthentication is yes, desired no');
    expect(host.files.has(NETWORK_PATHS.sshd)).toBe(false);
  });

  it('is as before when it is declared no longer', async () => {
    await part.apply({ sshd: HARDENED });
    await part.apply({});
    expect(host.files.has(NETWORK_PATHS.sshd)).toBe(false);
    expect(asked.at(-1)).toBe('systemctl reload ssh');
  });
});
