import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SERVICES } from '@fairlead/contracts';
import { freePorts, isAlive, LOOPBACK, type ProcessIdentity } from '@fairlead/embedded';

const START_TIMEOUT_MS = 180_000;
const STOP_TIMEOUT_MS = 60_000;
const POLL_MS = 100;

/** The victims: every service, NATS and PostgreSQL. The lab represents the cloud, which is not killed here. */
export const VICTIMS = [...SERVICES, 'revoker', 'nats', 'postgres'] as const;
export type Victim = (typeof VICTIMS)[number];

/** A whole instance as a user starts it: `fairlead up` in a separate process, with the lab. */
export class ChaosInstance {
  private constructor(
    readonly dataDir: string,
    readonly server: string,
    private readonly up: ChildProcess,
  ) {}

  static async start(checkout: string, dataDir: string): Promise<ChaosInstance> {
    const [port = 0] = await freePorts(`${dataDir}/gateway`, 1);
    const log = openSync(join(dataDir, 'up.log'), 'a');
    const options = ['--data', dataDir, '--port', String(port), '--delays', 'none', '--light'];
    const up = spawn(process.execPath, [join(checkout, 'apps/cli/dist/main.js'), 'up', ...options], {
      stdio: ['ignore', log, log],
      env: { ...process.env, CI: 'true' },
      detached: true,
    });
    const instance = new ChaosInstance(dataDir, `http://${LOOPBACK}:${port}`, up);
    const deadline = Date.now() + START_TIMEOUT_MS;
    while (!existsSync(join(dataDir, 'instance.json'))) {
      if (!instance.serves || Date.now() > deadline) throw new Error(`fairlead up did not start:\n${instance.log()}`);
      await sleep(POLL_MS);
    }
    return instance;
  }

  /** Whether `fairlead up` itself is still running. */
  get serves(): boolean {
    return this.up.exitCode === null && this.up.signalCode === null;
  }

  log(): string {
    return readFileSync(join(this.dataDir, 'up.log'), 'utf8');
  }

  token(): string {
    return readFileSync(join(this.dataDir, 'keys', 'local.token'), 'utf8').trim();
  }

  labToken(): string {
    return readFileSync(join(this.dataDir, 'keys', 'lab.token'), 'utf8').trim();
  }

  /** kill -9; false if it is not running at the moment. */
  kill(victim: Victim): boolean {
    const known = this.identityOf(victim);
    if (known === undefined || !isAlive(known)) return false;
    try {
      process.kill(known.pid, 'SIGKILL');
      return true;
    } catch {
      return false; // It ended between the check and the signal.
    }
  }

  /** Victims that are not running. */
  stopped(): readonly Victim[] {
    return VICTIMS.filter((victim) => {
      const known = this.identityOf(victim);
      return known === undefined || !isAlive(known);
    });
  }

  /** Stops it like Ctrl-C. Returns problems with that, and processes left running. */
  async stop(): Promise<readonly string[]> {
    if (this.serves) this.up.kill('SIGINT');
    const deadline = Date.now() + STOP_TIMEOUT_MS;
    while (this.serves && Date.now() < deadline) await sleep(POLL_MS);
    const slow = this.serves ? [`fairlead up did not end within ${STOP_TIMEOUT_MS / 1_000} s`] : [];
    if (this.serves) this.up.kill('SIGKILL');
    const code = this.up.exitCode;
    const left = await this.leftovers();
    return [
      ...slow,
      ...(code === 0 || slow.length > 0 ? [] : [`fairlead up ended with ${code ?? this.up.signalCode}`]),
      ...left.map((line) => `still running: ${line}`),
    ];
  }

  /** Processes whose command line contains the data folder. */
  private async leftovers(): Promise<readonly string[]> {
    for (let tries = 0; ; tries += 1) {
      const left = commandLines().filter((line) => line.includes(this.dataDir));
      if (left.length === 0 || tries === 50) return left;
      await sleep(POLL_MS);
    }
  }

  private identityOf(victim: Victim): ProcessIdentity | undefined {
    const folder = victim === 'nats' || victim === 'postgres' ? 'environment' : 'programs';
    try {
      return JSON.parse(readFileSync(join(this.dataDir, 'run', folder, `${victim}.pid`), 'utf8')) as ProcessIdentity;
    } catch {
      return undefined; // The file is currently being written.
    }
  }
}

const commandLines = (): readonly string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .flatMap((pid) => {
      try {
        return [`${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')}`];
      } catch {
        return []; // It ended meanwhile.
      }
    });
