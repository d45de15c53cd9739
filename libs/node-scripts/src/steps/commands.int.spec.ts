import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TestHost } from './host.fixtures.js';
import type { NodeLogInput } from './node-log.script.js';
import { renderStep } from './steps.js';

let host: TestHost;

beforeEach(() => {
  host = new TestHost();
});

afterEach(() => host.remove());

describe("an operator's command", () => {
  const ran = async (command: readonly string[], { timeoutSeconds = 30, outputBytes = 1_000 } = {}) => {
    const { result } = await host.run(renderStep('node-exec', { command, timeoutSeconds, outputBytes }).script);
    const { stdout, stderr, ...others } = result as {
      readonly exitCode: number;
      readonly stdout: string;
      readonly stderr: string;
    };
    const text = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8');
    return { ...others, stdout: text(stdout), stderr: text(stderr) };
  };

  it('receives its arguments unchanged, and returns its exit code and both outputs separately', async () => {
    const odd = `a 'b' "c" $HOME \\ ; *`;
    expect(await ran(['printf', '%s|', odd, ''])).toMatchObject({ exitCode: 0, stdout: `${odd}||`, stderr: '' });
    const both = await ran(['sh', '-c', 'echo out; echo err >&2; exit 7']);
    expect(both).toEqual({ exitCode: 7, stdout: 'out\n', stderr: 'err\n', stdoutBytes: 4, stderrBytes: 4 });
    expect((await ran(['there-is-no-such-program'])).exitCode).toBe(127);
  });

  it('continues if it prints more than is kept, and is ended by its time limit', async () => {
    const long = await ran(['sh', '-c', 'head -c 100000 /dev/zero | tr "\\0" x; exit 3'], { outputBytes: 10 });
    expect(long).toMatchObject({ exitCode: 3, stdout: 'xxxxxxxxxx', stdoutBytes: 100_000 });
    expect((await ran(['sleep', '30'], { timeoutSeconds: 1 })).exitCode).toBe(124);
  });
});

describe('a followed log', () => {
  const JOURNAL = `case "$*" in
*--after-cursor*i=9*) echo '-- cursor: s=1;i=9' ;;
*--after-cursor*) cat "$root/new"; echo '-- cursor: s=1;i=9' ;;
*--since*) seq 1 9; echo '-- cursor: s=1;i=7' ;;
*) echo 'an old line'; echo '-- cursor: s=1;i=7' ;;
esac`;
  const read = async (more: Partial<NodeLogInput> = {}) => {
    const input = { unit: 'kubelet', after: null, lines: 3, sinceSeconds: null, bytes: 20, waitSeconds: 1 } as const;
    const { result, stderr } = await host.run(renderStep('node-log', { ...input, ...more }).script);
    const { text = '', ...others } = (result ?? {}) as { readonly text?: string; readonly position?: object };
    return { text: Buffer.from(text, 'base64').toString('utf8'), stderr, ...others };
  };
  const after = (cursor: string | null) => ({ cursor, time: 5 });

  it('begins with its last lines, and continues after them', async () => {
    host.standIn('journalctl', JOURNAL).write('/new', 'one\ntwo\n');
    expect(await read()).toMatchObject({ text: 'an old line\n', skipped: 0, position: { cursor: 's=1;i=7' } });
    expect(await read({ sinceSeconds: 60 })).toMatchObject({ text: '7\n8\n9\n' });
    const next = await read({ after: after('s=1;i=7') });
    expect(next).toMatchObject({ text: 'one\ntwo\n', skipped: 0, position: { cursor: 's=1;i=9' } });
    expect(host.calls('journalctl').at(-1)).toContain('--unit kubelet --show-cursor --after-cursor s=1;i=7');
  });

  it('returns only as much as fits, in whole lines, and counts the others', async () => {
    host.standIn('journalctl', JOURNAL).write('/new', `first\n${'x'.repeat(30)}\nlast\n`);
    expect(await read({ after: after('s=1;i=7') })).toMatchObject({ text: 'first\n', skipped: 2 });
  });

  it('waits for a new line, and then reports that there is none', async () => {
    host.standIn('journalctl', JOURNAL);
    expect(await read({ after: after('s=1;i=9') })).toMatchObject({ text: '', position: { cursor: 's=1;i=9' } });
    expect(host.calls('journalctl')).toHaveLength(2);
  });

  it("without earlier lines is read by time, and an unreadable one fails with journalctl's message", async () => {
    host.standIn('journalctl', 'exit 0');
    expect(await read({ after: after(null) })).toMatchObject({ text: '', position: { cursor: null } });
    expect(host.calls('journalctl').at(-1)).toContain('--since @5');
    host.standIn('journalctl', 'echo "No journal files were opened" >&2; exit 1');
    expect((await read()).stderr).toBe('journalctl failed: No journal files were opened');
  });
});
