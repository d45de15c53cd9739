import { AGENT_PATHS, type AgentConfig, type StreamId } from '@fairlead/contracts';
import { eventuallyPasses, newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { LogEnvironment } from '../test/log.environment.js';

const here = dirname(fileURLToPath(import.meta.url));
const BUNDLER = join(here, '../bundle.mjs');
const BUNDLE = join(here, '../dist/agent.mjs');
const run = promisify(execFile);

/**
 * Shell stand-ins that keep their state in files below the host's root. Each records the changes that it was asked to
 * make.
 */
const COMMANDS: Readonly<Record<string, string>> = {
  hostnamectl: 'note hostnamectl "$@"; echo "$2" > "$FAIRLEAD_ROOT/etc/hostname"',
  swapon: '[ -e "$FAIRLEAD_ROOT/swap-off" ] || echo /swapfile',
  swapoff: 'note swapoff "$@"; touch "$FAIRLEAD_ROOT/swap-off"',
  lsmod: 'echo Module; cat "$FAIRLEAD_ROOT/modules" 2>/dev/null || true',
  modprobe: 'note modprobe "$@"; echo "$1 1 0" >> "$FAIRLEAD_ROOT/modules"',
  sysctl: `
    mkdir -p "$FAIRLEAD_ROOT/sysctl"
    if [ "$1" != -w ]; then
      for key; do [ ! -e "$FAIRLEAD_ROOT/sysctl/$key" ] || echo "$key = $(cat "$FAIRLEAD_ROOT/sysctl/$key")"; done
    else note sysctl "$@"; echo "\${2#*=}" > "$FAIRLEAD_ROOT/sysctl/\${2%%=*}"; fi`,
  'dpkg-query': `
    mkdir -p "$FAIRLEAD_ROOT/dpkg"; shift 2; code=0
    for name; do cat "$FAIRLEAD_ROOT/dpkg/$name" 2>/dev/null || code=1; done; exit $code`,
  'apt-get': `
    [ "$DEBIAN_FRONTEND" = noninteractive ] || exit 9
    note apt-get "$@"
    touch "$FAIRLEAD_ROOT/apt-began"
    while [ -e "$FAIRLEAD_ROOT/apt-slow" ]; do sleep 0.1; done
    for word; do case "$word" in *=*\\*) name="\${word%%=*}"; version="\${word#*=}"; version="\${version%?}"
      printf '%s\\t%s-1.1\\tinstall\\tinstalled\\n' "$name" "\${version%-}" > "$FAIRLEAD_ROOT/dpkg/$name";; esac; done`,
  'apt-mark': `
    note apt-mark "$@"; shift
    for name; do sed -i 's/\\tinstall\\t/\\thold\\t/' "$FAIRLEAD_ROOT/dpkg/$name"; done`,
  systemctl: `
    mkdir -p "$FAIRLEAD_ROOT/units"
    for unit; do :; done
    case "$1" in
      show)
        [ -e "$FAIRLEAD_ROOT/units/$unit.enabled" ] && echo UnitFileState=enabled || echo UnitFileState=disabled
        [ -e "$FAIRLEAD_ROOT/units/$unit.active" ] && echo ActiveState=active || echo ActiveState=inactive;;
      is-active) [ -e "$FAIRLEAD_ROOT/units/$unit.active" ];;
      enable) note systemctl "$@"; touch "$FAIRLEAD_ROOT/units/$unit.enabled";;
      start) note systemctl "$@"; touch "$FAIRLEAD_ROOT/units/$unit.active";;
      stop) note systemctl "$@"; rm -f "$FAIRLEAD_ROOT/units/$unit.active";;
    esac`,
};

describe('the bundled agent as a program', () => {
  let log: LogEnvironment;
  let root: string;
  let config: AgentConfig;
  let agent: ChildProcess | undefined;

  const start = (): ChildProcess => {
    const env = { ...process.env, PATH: `${join(root, 'bin')}:${process.env['PATH'] ?? ''}`, FAIRLEAD_ROOT: root };
    agent = spawn(process.execPath, [BUNDLE, '--config', `${root}${AGENT_PATHS.config}`], {
      env,
      stdio: 'ignore',
    });
    return agent;
  };
  const end = async (child: ChildProcess, signal: NodeJS.Signals): Promise<unknown> => {
    child.kill(signal);
    const [code] = (await once(child, 'exit')) as [unknown];
    return code;
  };
  const changes = async (): Promise<string> => readFile(join(root, 'changes'), 'utf8').catch(() => '');
  const typesOf = async (): Promise<string[]> => {
    const { namespace, cluster, node } = config;
    const stream: StreamId = { namespace, cluster, context: `node-${node}` };
    return (await log.chainOf(stream)).map(({ type }) => type);
  };

  beforeAll(async () => {
    await run(process.execPath, [BUNDLER]);
    log = await LogEnvironment.start();
    root = newFolder('host');
    const node = { namespace: 'default', cluster: 'demo', node: 'demo-cp-1-aaaaa' };
    config = {
      ...node,
      uid: randomUUID(),
      role: 'control-plane',
      natsUrls: [log.url],
      heartbeatIntervalMs: 500,
      desired: { revision: 1, software: { containerd: '1.7.24', kubelet: '1.34.4' }, changesAllowed: true },
      nodeLabels: {},
    } as unknown as AgentConfig;
    for (const folder of ['bin', 'etc/fairlead']) await mkdir(join(root, folder), { recursive: true });
    await writeFile(`${root}${AGENT_PATHS.config}`, JSON.stringify(config));
    await writeFile(`${root}${AGENT_PATHS.credentials}`, await log.credentials(config));
    await writeFile(join(root, 'etc/os-release'), 'PRETTY_NAME="Simulated Debian"\n');
    const note = 'note() { echo "$*" >> "$FAIRLEAD_ROOT/changes"; }';
    for (const [name, body] of Object.entries(COMMANDS))
      await writeFile(join(root, 'bin', name), `#!/bin/sh\nset -e\n${note}\n${body}\n`, { mode: 0o755 });
  }, 90_000);

  afterAll(async () => {
    if (agent !== undefined && agent.exitCode === null && agent.signalCode === null) await end(agent, 'SIGKILL');
    await log?.stop();
    if (root !== undefined) removeFolder(root);
  });

  it('is small and reproducible', async () => {
    const before = await readFile(BUNDLE);
    await run(process.execPath, [BUNDLER]);
    expect((await readFile(BUNDLE)).equals(before)).toBe(true);
    expect((await stat(BUNDLE)).size).toBeLessThan(1_000_000);
  }, 30_000);

  it('prints its version', async () => {
    const { stdout } = await run(process.execPath, [BUNDLE, '--version']);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('exits with a message if it is not configured', async () => {
    const failed = await run(process.execPath, [BUNDLE, '--config', '/nonexistent/agent.json']).then(
      () => undefined,
      (error: { code: number; stdout: string }) => error,
    );
    expect(failed?.code).toBe(1);
    expect(failed?.stdout).toContain('/nonexistent/agent.json');
  });

  it('resumes an installation after a kill, and reports it once', async () => {
    await writeFile(join(root, 'apt-slow'), '');
    const first = start();
    await eventuallyPasses(async () => void (await stat(join(root, 'apt-began'))), { withinMs: 20_000 });
    await end(first, 'SIGKILL');
    await rm(join(root, 'apt-slow'));
    expect(await typesOf()).toEqual([]);
    start();
    await eventuallyPasses(async () => expect(await typesOf()).toEqual(['NodeInitialized']), { withinMs: 20_000 });
    // Work done before the kill was not repeated.
    expect((await changes()).split('\n').filter((line) => line.startsWith('swapoff'))).toHaveLength(1);
    expect(await readFile(join(root, 'etc/hostname'), 'utf8')).toBe('demo-cp-1-aaaaa\n');
    expect((await stat(`${root}${AGENT_PATHS.state}`)).mode & 0o777).toBe(0o600);
  }, 60_000);

  it('shuts down gracefully on SIGTERM, and changes nothing when it restarts', async () => {
    const before = await changes();
    expect(await end(agent!, 'SIGTERM')).toBe(0);
    start();
    const heartbeats = log.admin.subscribe('hb.default.demo.demo-cp-1-aaaaa', { max: 2 });
    for await (const heartbeat of heartbeats) expect(heartbeat.json()).toMatchObject({ ready: true, revision: 1 });
    expect(await changes()).toBe(before);
    expect(await typesOf()).toEqual(['NodeInitialized']);
  }, 60_000);
});
