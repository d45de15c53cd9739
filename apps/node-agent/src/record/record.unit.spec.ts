import { describe, expect, it } from '@jest/globals';
import { MemoryHost } from '../../test/memory.host.js';
import { fullLine, journaldLine } from './log.line.js';
import { onlyLooks, recordingHost } from './recording.host.js';

const line = {
  level: 'warn',
  message: 'a command failed',
  fields: { command: 'swapoff -a', code: 1, stderr: 'not\nallowed' },
} as const;

describe("the agent's log", () => {
  it('has lines with a priority for journald that people can read', () =>
    expect(journaldLine(line)).toBe('<4>a command failed command="swapoff -a" code=1 stderr="not\\nallowed"'));

  it('has a time if nothing else adds one', () =>
    expect(fullLine(line, new Date(0))).toMatch(/^1970-01-01T00:00:00\.000Z WARN {2}a command failed command=/));

  it('truncates overly long lines', () =>
    expect(journaldLine({ ...line, fields: { text: 'x'.repeat(10_000) } }).length).toBeLessThan(2_100));
});

describe('the record of commands', () => {
  it('has commands that may change the host, with their results, and no read-only ones', async () => {
    const said: string[] = [];
    const memory = new MemoryHost();
    memory.fault = (text) => (text === 'swapoff -a' ? { code: 1, stdout: '', stderr: 'no' } : undefined);
    const host = recordingHost(memory, (level, message, fields) =>
      said.push(`${level} ${message} ${fields?.['command']}`),
    );
    await host.run('systemctl', ['is-active', '--quiet', 'kubelet'], { timeoutMs: 1 });
    await host.run('modprobe', ['overlay'], { timeoutMs: 1 });
    await host.run('swapoff', ['-a'], { timeoutMs: 1 });
    expect(said).toEqual(['info ran modprobe overlay', 'warn a command failed swapoff -a']);
  });

  it.each(['/usr/bin/kubelet --version', 'ctr -n k8s.io images ls -q', 'sysctl net.ipv4.ip_forward net.ipv4.x'])(
    'omits %s',
    (command) => expect(onlyLooks(command)).toBe(true),
  );
});
