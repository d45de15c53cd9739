import { AGENT_PATHS, type AgentConfig, type AgentNetworkMessage, type EventType } from '@fairlead/contracts';
import { cacheFolder, resolveNatsServer } from '@fairlead/embedded';
import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const AGENT = join(here, '../dist/agent.mjs');
const SERVICES = join(here, 'services.process.mjs');

/** The address of NATS, the services and clients outside the host; the second address is an unknown client. */
export const SERVER = '198.18.99.1';
export const STRANGER = '198.18.99.9';
/** Not a node, but declared as a client of the API. */
export const CLIENT = '198.18.99.17';
export const HOST = '198.18.99.2';

/**
 * The host has no systemd of its own: this runs the command of a transient timer, later and independent of its caller.
 */
const SYSTEMD_RUN = `#!/bin/sh
for word; do
  case $word in
    --on-active=*) seconds=\${word#--on-active=} ;;
    --*) ;;
    *) break ;;
  esac
  shift
done
seconds=\${seconds%s}
{ setsid sh -c 'sleep "$0" && exec "$@"' "$((seconds / $(cat "$FAIRLEAD_ROOT/timer.divisor")))" "$@" & echo $! >"$FAIRLEAD_ROOT/timer.pid"; } >/dev/null 2>&1 </dev/null
`;

const SYSTEMCTL = `#!/bin/sh
echo "$@" >>"$FAIRLEAD_ROOT/systemctl.log"
case "$1 $2" in
  'stop fairlead-firewall-undo.timer')
    if [ -e "$FAIRLEAD_ROOT/timer.pid" ]; then kill -- "-$(cat "$FAIRLEAD_ROOT/timer.pid")" 2>/dev/null; fi
    rm -f "$FAIRLEAD_ROOT/timer.pid"
    ;;
esac
exit 0
`;

/** A dropped packet gets no response, so each connection times out after two seconds. */
const CONNECT = `
const [host, localAddress, ports] = process.argv.slice(1);
const isOpen = (port) => new Promise((resolve) => {
  const socket = require('node:net').connect({ host, localAddress, port, timeout: 2000 });
  const end = (open) => { socket.destroy(); resolve(open); };
  socket.once('connect', () => end(true)).once('error', () => end(false)).once('timeout', () => end(false));
});
const numbers = ports.split(',').map(Number);
Promise.all(numbers.map(isOpen)).then((open) => console.log(JSON.stringify(numbers.filter((_, index) => open[index]))));
`;

export interface Stated {
  readonly type: EventType | 'Listening';
  readonly data: Readonly<Record<string, unknown>>;
}

export type FirewallIdentity = Pick<AgentConfig, 'uid' | 'node'>;

/**
 * A host in its own network namespace, with the real agent, nft and kernel. Connected to it, in another namespace, are
 * a real NATS server and simulated services. Only systemd is simulated, by two scripts.
 */
export class FirewallWorld {
  readonly stated: Stated[] = [];
  private readonly root = newFolder('firewall');
  private readonly names = { host: `fl-${process.pid}-host`, server: `fl-${process.pid}-server` };
  private readonly children = new Set<ChildProcess>();
  private agent: ChildProcess | undefined;
  private services: ChildProcess | undefined;

  async start(identity: FirewallIdentity): Promise<void> {
    this.wire();
    this.hurry(1);
    this.script('systemd-run', SYSTEMD_RUN);
    this.script('systemctl', SYSTEMCTL);
    const config: AgentConfig = {
      ...identity,
      namespace: 'default' as AgentConfig['namespace'],
      cluster: 'demo' as AgentConfig['cluster'],
      role: 'worker',
      natsUrls: [`nats://${SERVER}:4222`],
      heartbeatIntervalMs: 1_000,
      // Its software is that of this machine and must not be changed.
      desired: { revision: 1, software: {}, changesAllowed: false },
      nodeLabels: {},
    };
    this.write(AGENT_PATHS.config, JSON.stringify(config));
    const cacheDir = cacheFolder(process.env, this.root);
    const { path } = await resolveNatsServer({ cacheDir, env: process.env, log: () => undefined });
    this.spawn('server', path, ['--addr', '0.0.0.0', '--port', '4222']);
    await this.startServices(identity);
  }

  private async startServices({ node }: FirewallIdentity): Promise<void> {
    const url = `nats://${SERVER}:4222`;
    this.services = this.spawn('server', process.execPath, [SERVICES, url, `default.demo.${node}`]);
    const lines = createInterface({ input: this.services.stdout ?? process.stdin });
    lines.on('line', (line) => void this.stated.push(JSON.parse(line) as Stated));
    await eventually(() => Promise.resolve(this.stated.find(({ type }) => type === 'Listening')));
  }

  /** Divides the delays of later timers. */
  hurry(divisor: number): void {
    this.write('timer.divisor', String(divisor));
  }

  startAgent(): void {
    this.agent = this.spawn('host', process.execPath, [AGENT]);
  }

  /** Like a crash. */
  async killAgent(): Promise<void> {
    const { agent } = this;
    if (agent === undefined) return;
    const ended = new Promise((resolve) => agent.once('exit', resolve));
    agent.kill('SIGKILL');
    await ended;
  }

  /** The host loses its rules and its timers, and systemd starts enabled units. */
  async reboot(): Promise<void> {
    await this.killAgent();
    this.on('host', join(this.root, 'bin/systemctl'), 'stop', 'fairlead-firewall-undo.timer');
    this.on('host', 'nft', 'flush', 'ruleset');
    const unit = readFileSync(join(this.root, 'etc/systemd/system/fairlead-firewall.service'), 'utf8');
    const [, command = ''] = /^ExecStart=(.+)$/m.exec(unit) ?? [];
    const [program = '', ...words] = command.split(' ');
    this.on('host', program, ...words);
  }

  send(message: AgentNetworkMessage): void {
    this.services?.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  /** Waits for this many stated network facts and returns them. */
  async facts(count: number): Promise<readonly Stated[]> {
    return eventually(
      () => {
        const facts = this.stated.filter(({ type }) => type.startsWith('NodeNetwork'));
        return Promise.resolve(facts.length >= count ? facts : undefined);
      },
      { withinMs: 60_000 },
    );
  }

  exists(path: string): boolean {
    return existsSync(join(this.root, path));
  }

  write(path: string, text: string): void {
    const file = join(this.root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  /** Listens on a port of the host. */
  async listen(port: number): Promise<void> {
    const program = `require('node:net').createServer((s) => s.end()).listen(${port}, '0.0.0.0', () => console.log('.'))`;
    const child = this.spawn('host', process.execPath, ['-e', program]);
    await new Promise((resolve) => child.stdout?.once('data', resolve));
  }

  /** Those of the given ports, e.g. `80,443`, that accept a connection from this address. */
  openPorts(from: string, ports: string): readonly number[] {
    return JSON.parse(this.on('server', process.execPath, '-e', CONNECT, HOST, from, ports)) as readonly number[];
  }

  rules(): string {
    return this.on('host', 'nft', 'list', 'ruleset');
  }

  /** Runs a command in a namespace and returns its output. */
  on(where: 'host' | 'server', program: string, ...args: readonly string[]): string {
    const { status, stdout, stderr } = spawnSync('ip', ['netns', 'exec', this.names[where], program, ...args], {
      encoding: 'utf8',
      env: this.environment,
    });
    if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  async stop(): Promise<void> {
    for (const child of this.children) child.kill('SIGKILL');
    await Promise.all([...this.children].map((child) => ended(child)));
    for (const name of Object.values(this.names)) spawnSync('ip', ['netns', 'delete', name]);
    removeFolder(this.root);
  }

  private wire(): void {
    const { host, server } = this.names;
    for (const name of [host, server]) ip('netns', 'add', name);
    ip('link', 'add', 'cable', 'netns', host, 'type', 'veth', 'peer', 'name', 'cable', 'netns', server);
    for (const [name, ...addresses] of [[host, HOST] as const, [server, SERVER, STRANGER, CLIENT] as const]) {
      for (const address of addresses) ip('-n', name, 'address', 'add', `${address}/24`, 'dev', 'cable');
      for (const device of ['lo', 'cable']) ip('-n', name, 'link', 'set', device, 'up');
    }
  }

  private get environment(): NodeJS.ProcessEnv {
    const { PATH = '' } = process.env;
    return { ...process.env, PATH: `${join(this.root, 'bin')}:${PATH}:/usr/sbin:/sbin`, FAIRLEAD_ROOT: this.root };
  }

  private script(name: string, text: string): void {
    this.write(`bin/${name}`, text);
    chmodSync(join(this.root, 'bin', name), 0o755);
  }

  private spawn(where: 'host' | 'server', program: string, args: readonly string[]): ChildProcess {
    const child = spawn('ip', ['netns', 'exec', this.names[where], program, ...args], {
      env: this.environment,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.children.add(child);
    child.once('exit', () => this.children.delete(child));
    return child;
  }
}

const ended = (child: ChildProcess): Promise<unknown> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve()
    : new Promise((resolve) => child.once('exit', resolve));

const ip = (...args: readonly string[]): void => {
  const { status, stderr } = spawnSync('ip', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`);
};
