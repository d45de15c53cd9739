import { execFileSync, spawn, type ChildProcess } from 'node:child_process';

/** For programs that are not on an ordinary PATH. */
const PATH = `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`;
const env = { ...process.env, PATH };

const ip = (...args: readonly string[]): string => execFileSync('ip', args, { encoding: 'utf8', env });

/** Machines on one switch, each a network namespace of this machine, invisible from outside. */
export class Machines {
  private readonly prefix = `fl${process.pid}`;
  private readonly names: string[] = [];
  private readonly processes = new Set<ChildProcess>();

  constructor() {
    this.namespace('sw');
    ip('-n', this.at('sw'), 'link', 'add', 'br0', 'type', 'bridge', 'forward_delay', '0');
    ip('-n', this.at('sw'), 'link', 'set', 'br0', 'up');
  }

  add(name: string, address: string): void {
    this.namespace(name);
    ip('-n', this.at('sw'), 'link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.at(name));
    ip('-n', this.at('sw'), 'link', 'set', name, 'master', 'br0', 'up');
    ip('-n', this.at(name), 'address', 'add', `${address}/24`, 'dev', 'eth0');
    ip('-n', this.at(name), 'link', 'set', 'eth0', 'up');
  }

  /** Like pulling its network cable or power. */
  cutOff(name: string): void {
    ip('-n', this.at('sw'), 'link', 'set', name, 'down');
  }

  reconnect(name: string): void {
    ip('-n', this.at('sw'), 'link', 'set', name, 'up');
  }

  hasAddress(name: string, address: string): boolean {
    return ip('-n', this.at(name), '-o', 'address', 'show').includes(` ${address}/`);
  }

  start(name: string, program: string, args: readonly string[]): ChildProcess {
    const child = spawn('ip', ['netns', 'exec', this.at(name), program, ...args], { env, stdio: 'ignore' });
    this.processes.add(child);
    child.once('exit', () => this.processes.delete(child));
    return child;
  }

  /** The output of a server on connect; empty: it closed without output, or did not answer within a second. */
  ask(name: string, address: string, port: number): string {
    const script = `exec 3<>/dev/tcp/${address}/${port} && read -r -t 1 line <&3 && echo "$line"`;
    const args = ['netns', 'exec', this.at(name), 'timeout', '1', 'bash', '-c', script];
    try {
      return execFileSync('ip', args, { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    } catch {
      return '';
    }
  }

  async remove(): Promise<void> {
    const ends = [...this.processes].map((child) => new Promise((resolve) => child.once('exit', resolve)));
    for (const child of this.processes) child.kill('SIGTERM');
    await Promise.all(ends);
    for (const name of this.names) ip('netns', 'delete', this.at(name));
  }

  private at(name: string): string {
    return `${this.prefix}${name}`;
  }

  private namespace(name: string): void {
    ip('netns', 'add', this.at(name));
    this.names.push(name);
    ip('-n', this.at(name), 'link', 'set', 'lo', 'up');
  }
}

/** A server that sends its name, and, in hex, what it received within 100 ms of a connection. */
export const greeter = (name: string, port: number): readonly string[] => [
  '-e',
  `require('node:net').createServer((socket) => {
     const seen = [];
     socket.on('data', (bytes) => seen.push(bytes)).on('error', () => {});
     setTimeout(() => socket.write('${name} ' + Buffer.concat(seen).toString('hex') + '\\n'), 100);
   }).listen(${port}, '0.0.0.0')`,
];
