import { describe, expect, it } from '@jest/globals';
import { MemoryHost } from '../../test/memory.host.js';
import { fullLine, journaldLine } from './log.line.js';
import { onlyLooks, recordingHost } from './recording.host.js';

const line = {
  level: 'warn',
  message: 'a command failed',
  fields: { command: 'swapoff -a', code: 1, stderr: 'not\nallowed' },
} as const;

describe('what the agent says', () => {
  it('is a line that journald gives its priority, and a person can read', () =>
    expect(journaldLine(line)).toBe('<4>a command failed command="swapoff -a" code=1 stderr="not\\nallowed"'));

  it('has a time where no one else adds one', () =>
    expect(fullLine(line, new Date(0))).toMatch(/^1970-01-01T00:00:00\.000Z WARN {2}a command failed command=/));

  it('is cut where it is endless', () =>
    expect(journaldLine({ ...line, fields: { text: 'x'.repeat(10_000) } }).length).toBeLessThan(2_100));
});

describe('the record of commands', () => {
  it('has those that may change the host, with how they ended, and none that only look', async () => {
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
    'leaves out %s',
    (command) => expect(onlyLooks(command)).toBe(true),
  );
});
