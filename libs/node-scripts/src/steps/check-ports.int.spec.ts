import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import { parseResult } from '../shell/result.js';
import { renderStep } from './steps.js';
import type { CheckPortsInput, CheckPortsResult } from './check-ports.script.js';

describe('the step that checks ports between nodes', () => {
  let root: string;
  let server: Server;
  let open: number;

  beforeEach(async () => {
    root = newFolder('ports');
    server = createServer((socket) => socket.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open = (server.address() as AddressInfo).port;
  });
  afterEach(async () => {
    await new Promise((resolve) => server.close(resolve));
    removeFolder(root);
  });

  const check = async (targets: CheckPortsInput['targets']): Promise<CheckPortsResult> => {
    const { script, result } = renderStep('check-ports', { targets, patienceSeconds: 0 });
    const file = join(root, 'step.sh');
    writeFileSync(file, script);
    const child = spawn('sh', [file], { env: { ...process.env, FAIRLEAD_ROOT: root } });
    let stdout = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    await new Promise((resolve) => child.once('close', resolve));
    return result.parse(parseResult(stdout));
  };

  it('distinguishes an open port, a port on which nothing listens, and an address without a route', async () => {
    const { answers } = await check([
      { address: '127.0.0.1', port: open, need: 'open' },
      { address: '127.0.0.1', port: 1, need: 'reachable' },
      { address: '127.0.0.1', port: 1, need: 'open' },
      { address: 'no-such-host.invalid', port: 6443, need: 'open' },
    ]);
    expect(answers.map(({ target, answer }) => [target, answer])).toEqual([
      [0, 'open'],
      [1, 'refused'],
      [2, 'refused'],
      [3, 'unreachable'],
    ]);
  });
});
