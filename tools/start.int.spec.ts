import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const SCRIPT = join(dirname(fileURLToPath(import.meta.url)), 'start.mjs');

/** A fake npm: records its calls, waits while `hold-npm` exists, and installs a compiler that records its calls. */
const NPM = `#!/bin/sh
echo "npm $*" >> calls
while [ -e hold-npm ]; do sleep 0.02; done
mkdir -p node_modules/.bin
printf '#!/bin/sh\\necho "tsc $*" >> calls\\nmkdir -p apps/cli/dist\\ncp main-template.js apps/cli/dist/main.js\\n' > node_modules/.bin/tsc
chmod +x node_modules/.bin/tsc
`;
const MAIN = `console.log('main ' + process.argv.slice(2).join(' ')); process.exitCode = 7;\n`;

describe('npm start', () => {
  let checkout: string;

  beforeEach(() => {
    checkout = newFolder('start');
    const files: Record<string, string> = {
      'package.json': '{"type":"module"}',
      'package-lock.json': '{}',
      'tsconfig.json': '{}',
      'tsconfig.base.json': '{}',
      'docs/openapi.json': '{}',
      'tools/generate/client.mjs': '',
      'apps/cli/src/main.ts': 'one',
      'main-template.js': MAIN,
      'bin/npm': NPM,
    };
    for (const [name, text] of Object.entries(files)) write(name, text);
    chmodSync(join(checkout, 'bin/npm'), 0o755);
    cpSync(SCRIPT, join(checkout, 'tools/start.mjs'));
  });

  afterEach(() => removeFolder(checkout));

  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(checkout, name)), { recursive: true });
    writeFileSync(join(checkout, name), text);
  };
  const calls = (): string[] =>
    existsSync(join(checkout, 'calls')) ? readFileSync(join(checkout, 'calls'), 'utf8').trim().split('\n') : [];
  const holders = (): readonly unknown[] =>
    JSON.parse(readFileSync(join(checkout, '.fairlead/start/lock'), 'utf8')) as readonly unknown[];
  const launch = (...args: string[]): Run => {
    const { npm_execpath: _npm, ...env } = process.env;
    return new Run(
      spawn(process.execPath, ['tools/start.mjs', ...args], {
        cwd: checkout,
        env: { ...env, PATH: `${join(checkout, 'bin')}:${process.env['PATH'] ?? ''}` },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
  };

  it('installs, builds and runs "fairlead up --demo" with the given arguments and its exit code', async () => {
    const { code, output } = await launch('--once').ended;
    expect({ code, calls: calls() }).toEqual({
      code: 7,
      calls: ['npm ci --ignore-scripts --include=dev --no-audit --no-fund --loglevel=error', 'tsc -b'],
    });
    expect(output).toContain('main up --demo --once');
  });

  it.each([
    ['is not part of the checkout', undefined],
    ['cannot be built', `throw new Error('no builder');\n`],
  ])("starts without the operator's page if it %s", async (_case, builder) => {
    if (builder !== undefined) write('tools/page.mjs', builder);
    const { code, output } = await launch().ended;
    expect(code).toBe(7);
    expect(output).toContain('main up --demo');
    expect(output).not.toContain('no builder');
  });

  it("does not wait for the build of the operator's page", async () => {
    write(
      'tools/page.mjs',
      `import { existsSync, writeFileSync } from 'node:fs';
       const timer = setInterval(() => {
         if (!existsSync('may-end')) return;
         clearInterval(timer);
         writeFileSync('built', process.argv[2]);
       }, 50);\n`,
    );
    expect((await launch().ended).code).toBe(7);
    expect(existsSync(join(checkout, 'built'))).toBe(false);
    write('may-end', '');
    const built = (): string =>
      existsSync(join(checkout, 'built')) ? readFileSync(join(checkout, 'built'), 'utf8') : '';
    await eventually(() => built() !== '', { withinMs: 30_000 });
    expect(built()).toBe('--if-changed');
  });

  it('prints its help without installing or building', async () => {
    cpSync(join(dirname(SCRIPT), '../docs/cli.md'), join(checkout, 'docs/cli.md'));
    for (const option of ['--help', '-h']) {
      const { code, output } = await launch(option).ended;
      expect({ code, calls: calls() }).toEqual({ code: 0, calls: [] });
      expect(output).toContain('fairlead up [options]');
      expect(output).toContain('`--control-planes <count>`');
      expect(output).not.toContain('fairlead down [options]');
    }
    await launch('--prepare-only').ended;
    expect((await launch('--help').ended).output).toContain('main up --demo --help');
  });

  it('neither installs nor builds again if nothing changed', async () => {
    await launch('--prepare-only').ended;
    const { code, output } = await launch('--prepare-only').ended;
    expect({ code, output, count: calls().length }).toEqual({ code: 0, output: '', count: 2 });
  });

  it('builds again if a source changed, but not for a spec', async () => {
    await launch('--prepare-only').ended;
    write('apps/cli/src/main.unit.spec.ts', 'a test');
    await launch('--prepare-only').ended;
    expect(calls()).toHaveLength(2);
    write('apps/cli/src/main.ts', 'another');
    await launch('--prepare-only').ended;
    expect(calls().slice(2)).toEqual(['tsc -b']);
  });

  it('installs again if the lock file changed', async () => {
    await launch('--prepare-only').ended;
    write('package-lock.json', '{"changed":true}');
    await launch('--prepare-only').ended;
    expect(calls().filter((call) => call.startsWith('npm'))).toHaveLength(2);
  });

  it('accepts an installation that npm finished after the lock file was written', async () => {
    await launch('--prepare-only').ended;
    rmSync(join(checkout, 'node_modules/.fairlead-lock.sha256'));
    write('node_modules/.package-lock.json', '{}');
    await launch('--prepare-only').ended;
    expect(calls().filter((call) => call.startsWith('npm'))).toHaveLength(1);
    utimesSync(join(checkout, 'node_modules/.package-lock.json'), 1, 1);
    await launch('--prepare-only').ended;
    expect(calls().filter((call) => call.startsWith('npm'))).toHaveLength(2);
  });

  it('installs once if two start at the same time, and the other one waits', async () => {
    write('hold-npm', '');
    const first = launch('--prepare-only');
    await eventually(() => calls().length === 1);
    const second = launch('--prepare-only');
    await eventually(() => second.output.includes('waiting for it'));
    rmSync(join(checkout, 'hold-npm'));
    expect([(await first.ended).code, (await second.ended).code]).toEqual([0, 0]);
    expect(calls().map((call) => call.split(' ')[0])).toEqual(['npm', 'tsc']);
  });

  it('takes over from a killed process, after the step that it had started has ended', async () => {
    write('hold-npm', '');
    const killed = launch('--prepare-only');
    // If it is killed before the lock names the step, there is nothing to wait for.
    await eventually(() => calls().length === 1 && holders().length === 2);
    killed.kill();
    const next = launch('--prepare-only');
    await eventually(() => next.output.includes('waiting for it'));
    rmSync(join(checkout, 'hold-npm'));
    expect((await next.ended).code).toBe(0);
    expect(existsSync(join(checkout, '.fairlead/start/lock'))).toBe(false);
  });

  it('reports which step failed, and builds again the next time', async () => {
    write('bin/npm', '#!/bin/sh\nexit 3\n');
    const { code, output } = await launch('--prepare-only').ended;
    expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining('npm ci failed with exit code 3') });
    write('bin/npm', NPM);
    expect((await launch('--prepare-only').ended).code).toBe(0);
  });

  const asRoot = process.getuid?.() === 0 ? it : it.skip;
  asRoot("refuses to change another user's checkout, and names both", async () => {
    chmodSync(checkout, 0o755);
    const child = spawn(process.execPath, ['tools/start.mjs'], {
      cwd: checkout,
      uid: 65534,
      gid: 65534,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { code, output } = await new Run(child).ended;
    expect({ code, output }).toEqual({
      code: 1,
      output: expect.stringMatching(/belongs to user 0 and this is user 65534, who may not write there\. Run "/),
    });
  });

  it.each(['16.20.2', '18.20.8', '20.18.3', '22.11.0', '19.9.0'])(
    'refuses Node %s in one sentence',
    async (version) => {
      const pretend = `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'${version}'})`;
      const child = spawn(process.execPath, ['--import', pretend, SCRIPT], { stdio: ['ignore', 'pipe', 'pipe'] });
      const { code, output } = await new Run(child).ended;
      expect({ code, output }).toEqual({
        code: 1,
        output: expect.stringMatching(/^fairlead: Fairlead needs Node\.js 20\.19 .*this is \d+\.\d+\.\d+\. Install/),
      });
    },
  );
});

/** A started program: its output so far, and its exit code. */
class Run {
  output = '';
  readonly ended: Promise<{ code: number | null; output: string }>;

  constructor(private readonly child: ChildProcessByStdio<null, Readable, Readable>) {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
    this.ended = new Promise((resolve) => child.once('close', (code) => resolve({ code, output: this.output })));
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }
}
