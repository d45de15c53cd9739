import { newFolder, removeFolder } from '@fairlead/testing';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseResult } from '../shell/result.js';
import { sentStep } from '../shell/sent.step.js';

export interface Ran {
  readonly code: number | null;
  readonly result: unknown;
  readonly stderr: string;
}

/** A folder that simulates a host: a real /bin/sh, real files below a root, and stand-ins for a node's programs. */
export class TestHost {
  readonly root = newFolder('host');
  private readonly bin = join(this.root, 'stand-ins');
  private runs = 0;
  /** Additional environment of the login. */
  login: Readonly<Record<string, string>> = {};

  constructor(private readonly path = process.env['PATH'] ?? '') {
    mkdirSync(this.bin);
  }

  /** A stand-in for a program of the host. `$root` is the host's; each call is logged in `calls`. */
  standIn(name: string, text: string): this {
    const body = `#!/bin/sh\nroot="$FAIRLEAD_ROOT"\necho "${name} $*" >>"$root/calls"\n${text}\n`;
    writeFileSync(join(this.bin, name), body);
    chmodSync(join(this.bin, name), 0o755);
    return this;
  }

  write(path: string, text: string): this {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), text);
    return this;
  }

  read(path: string): string | undefined {
    const file = join(this.root, path);
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  }

  calls(program: string): readonly string[] {
    return (this.read('calls') ?? '').split('\n').filter((line) => line.startsWith(`${program} `));
  }

  /**
   * Runs a script like services do: from its own file, read by a shell. `sudoUser`: as root for that user, in whose
   * home sudo starts.
   */
  run(script: string, sudoUser?: string): Promise<Ran> {
    const { command, stdin } = sentStep({ name: `step-${(this.runs += 1)}`, script, input: {} });
    return new Promise((resolve, reject) => {
      const env = { ...this.login, PATH: `${this.bin}:${this.path}`, FAIRLEAD_ROOT: this.root };
      const options =
        sudoUser === undefined
          ? { env }
          : { env: { ...env, SUDO_USER: sudoUser }, cwd: join(this.root, 'home', sudoUser) };
      const child = spawn('/bin/sh', ['-c', command], options);
      child.stdin.on('error', () => undefined).end(stdin);
      let stdout = '';
      let stderr = '';
      child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
      child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
      child.on('error', reject);
      child.on('close', (code) => resolve({ code, result: parseResult(stdout), stderr: stderr.trim() }));
    });
  }

  remove(): void {
    removeFolder(this.root);
  }
}
