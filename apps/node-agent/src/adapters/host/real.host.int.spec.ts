import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { realHost } from './real.host.js';

const PROXY = { http: 'http://10.0.0.1:3128', https: 'http://10.0.0.2:3128', no: ['.example.org'] };

describe('a program that the agent runs on a host behind a proxy', () => {
  let folder: string;

  beforeEach(() => {
    folder = newFolder('programs');
    process.env['HTTPS_PROXY'] = 'http://from.the.unit:3128';
  });
  afterEach(() => {
    delete process.env['HTTPS_PROXY'];
    removeFolder(folder);
  });

  const proxiesOf = async (program: string): Promise<readonly string[]> => {
    const path = join(folder, program);
    writeFileSync(path, '#!/bin/sh\nenv\n');
    chmodSync(path, 0o755);
    const { code, stdout } = await realHost('', PROXY).run(path, [], { timeoutMs: 10_000 });
    expect(code).toBe(0);
    expect(stdout).toContain('LC_ALL=C');
    return stdout
      .split('\n')
      .filter((line) => /^\w+_proxy=/i.test(line))
      .toSorted();
  };

  it.each(['apt-get', 'ctr'])('uses the proxy if it is %s, which reaches others itself', async (program) => {
    expect(await proxiesOf(program)).toEqual([
      'http_proxy=http://10.0.0.1:3128',
      'https_proxy=http://10.0.0.2:3128',
      'no_proxy=.example.org',
    ]);
  });

  it.each(['kubeadm', 'kubectl', 'systemctl'])(
    'does not receive the proxy if it is %s: kubeadm would write it into static pods, and reach the API through it',
    async (program) => {
      expect(await proxiesOf(program)).toEqual([]);
    },
  );
});
